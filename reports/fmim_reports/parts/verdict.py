"""The answer in words, with its numbers: what was found, on which data, and what that does not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fmim_reports.parts.arms import leads_caution
from fmim_reports.parts.comparisons.cautions import comparison_cautions
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.pipelines import headlines
from fmim_reports.parts.comparisons.words import Facts, comparison_details, estimate_text, plain_sentences
from fmim_reports.parts.training.learning import empty_batches_caution, length_cautions
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, chance_name, test_fact
from fmim_reports.writing.captions import collapsed_note, protocol_sentence, sentences_on_references
from fmim_reports.writing.formats import configuration_text, decimal, in_percent

SMALL_TEST_SET = 100  # subjects
SEEDS_OF_AN_SE = 5  # of fewer it is hardly known
PAPER_EPOCHS = 100


@dataclass(frozen=True)
class Verdict:
    """`findings` answer the question in plain sentences, `cautions` say what they do not show.

    `details` are all numbers that the sentences on comparisons rest on: a comparison's heading with its facts.
    """

    lead: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    details: tuple[tuple[str, Facts], ...] = ()


def verdict_of_comparisons(results: Results) -> Verdict:
    """Return the answer of each comparison that the study declared; without any, each arm's test result."""
    findings = plain_sentences(results) or [
        f"{arm.label} ({configuration_text(arm.configuration)}): test {results.metric.label} {estimate_text(arm.test)}."
        for arm in arm_summaries(results)
    ]
    own = (*comparison_cautions(results), *length_cautions(results))
    return verdict_of(results, findings, *own)


def verdict_of(results: Results, findings: Iterable[str], *own: str) -> Verdict:
    """Return findings with their data and details, and the cautions of every study below the own ones.

    Where the preset's numbers say nothing about methods, that is the only finding.
    """
    if not results.study.answers:
        return Verdict(lead(results), plain_sentences(results), tuple(cautions(results)))
    led, selected = headlines(results), comparisons(results)
    details = [(f"{one.heading}, {one.claim.name}", comparison_details(one)) for one in led if led is not selected]
    details += [(one.heading, comparison_details(one)) for one in selected]
    return Verdict(lead(results), tuple(findings), (*own, *cautions(results)), tuple(details))


def lead(results: Results) -> str:
    """Say on which data the answer was found."""
    test = results.study.data.test
    text = f"On {results.study.data.phrase} (test set: {test.subjects} subjects, {test.queries} queries)"
    chance = test_fact(results, chance_name(results))
    if chance is not None:
        text += f", where the {results.metric.label} of a random ranking is {in_percent(chance)} %"
    return text + ":"


def cautions(results: Results) -> list[str]:
    """Return what any reader should know before using the numbers, each with its number."""
    return [
        *sentences_on_references(results),
        *_on_the_run(results),
        *leads_caution(results),
        *_on_matches(results),
        *empty_batches_caution(results),
        *_below_chance(results),
        *_in_development(results),
        *(f"Another run with the same seed: {note}." for note in dict.fromkeys(a.note for a in results.arms if a.note)),
        *_on_seeds(results),
    ]


def _on_the_run(results: Results) -> Iterator[str]:
    study, subjects = results.study, results.study.data.test.subjects
    tested = [(t.arm, t.record) for t in results.trials if t.stage == "replicate" and t.record and t.record.history]
    if own := results.own_trainers:
        yield f"Code of the study's own, not of this package: {'; '.join(own)}."
    if trained := [record for arm, record in tested if not results.arm(arm).trainer]:
        epochs = trained[0].histories[0]
        steps, rate = sum(row.batches for row in epochs), study.train["learning_rate"]
        highest = "up to " if "lr_schedule" in study.train else ""
        yield f"Models trained for {steps} steps ({len(epochs)} epochs) with a learning rate of {highest}{rate:g}."
    if study.changed:
        said = ", ".join(f"{name} = {value}" for name, value in study.changed.items())
        yield f"This is not the preset {study.preset} as it is declared: the run set {said}."
    if study.data.synthetic:
        shows = "they show how the methods behave here, not how they do on radiographs"
        yield f"The images are synthetic phantoms: {shows}."
    if subjects < SMALL_TEST_SET:
        yield (
            f"The test set has only {subjects} subjects: one subject more or less matched moves "
            f"{results.metric.label} by about {decimal(100 / max(subjects, 1), 1)} percentage points, which a ± over "
            "seeds does not cover."
        )
    yield protocol_sentence(results)
    folds = "A validation ± is over folds, which differ in subjects but share training data; the two do not compare."
    yield (
        "A test ± is the SE over seeds on one fixed set of subjects: it covers training noise, not the choice of "
        f"subjects. The interval of a difference says what it is over.{f' {folds}' if results.searched else ''}"
    )


def _on_matches(results: Results) -> Iterator[str]:
    without, queries = (test_fact(results, name) for name in ("queries_without_match", "queries"))
    if without is not None and queries is not None:
        some = f"{int(without)} of {int(queries)} test queries have no match in the gallery."
        yield some if without else f"Each of the {int(queries)} test queries has a match in the gallery."


def _below_chance(results: Results) -> Iterator[str]:
    """Name the arms that have collapsed, and others whose model tells people apart worse than a random ranking."""
    yield from filter(None, [collapsed_note(results)])
    chance, sign = test_fact(results, chance_name(results)), 1 if results.metric.higher_is_better else -1
    if chance is None:
        return
    others = [arm for arm in arm_summaries(results) if not arm.collapsed]
    if worse := [arm.label for arm in others if sign * arm.test.stat.mean < sign * chance]:
        yield f"Worse than a random ranking: {', '.join(worse)}."


def _in_development(results: Results) -> Iterator[str]:
    """Say which validation queries were left out, and what replicates warn of."""
    folds = results.study.folds
    without = sum(fold.validation_queries_without_match for fold in folds)
    if without:
        yield (
            f"{without} of {without + sum(fold.validation_queries for fold in folds)} validation queries have no match "
            "in their gallery: they are left out, not scored 0."
        )
    final = [t.record for t in results.trials if t.record and t.stage == "replicate"]
    yield from (f"{warning}." for warning in sorted({warning for record in final for warning in record.warnings}))


def _on_seeds(results: Results) -> Iterator[str]:
    """Name the arms that have so few seeds that their SE says little."""
    few = [arm for arm in results.arms if arm.replicates < SEEDS_OF_AN_SE]
    counts = sorted({arm.replicates for arm in few})
    if few:
        n = f"{' or '.join(map(str, counts))} seed{'' if counts == [1] else 's'}"
        which = "" if len(few) == len(results.arms) else f" for {', '.join(arm.label for arm in few)}"
        yield f"{n} planned{which}: intervals from so few are wide or do not exist."


def epochs_caution(results: Results, why: str) -> list[str]:
    """Say that trials trained for fewer epochs than the paper's, and why this matters; nothing if they did not."""
    completed = [t.record for t in results.trials if t.record and t.status == "completed"]
    trained = [record.cost.epochs // max(len(record.members), 1) for record in completed]
    epochs = {number for number in trained if number > 0}
    if not epochs or min(epochs) >= PAPER_EPOCHS:
        return []
    given = " or ".join(map(str, sorted(epochs)))
    return [f"Models trained for {given} epochs, the paper's for {PAPER_EPOCHS}. {why}"]
