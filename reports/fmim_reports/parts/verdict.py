"""The answer in words, with its numbers: what was found, on which data, and what that does not show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fmim_reports.parts.arms import leads_caution
from fmim_reports.parts.comparisons.answer import answer_sentence
from fmim_reports.parts.comparisons.cautions import comparison_cautions, moves_caution, scope_caution
from fmim_reports.parts.comparisons.comparison import comparisons, different_tasks_note
from fmim_reports.parts.comparisons.pipelines import headlines
from fmim_reports.parts.comparisons.words import Facts, comparison_details, estimate_text, plain_sentences
from fmim_reports.parts.training.learning import empty_batches_caution, length_cautions
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, chance_name, test_fact
from fmim_reports.writing.captions import OTHER_DEVICE, collapsed_note, protocol_sentence, sentences_on_references
from fmim_reports.writing.formats import configuration_text, decimal, in_percent, listed

SMALL_TEST_SET = 100  # subjects
SEEDS_OF_AN_SE = 5  # of fewer it is hardly known
PAPER_EPOCHS = 100


@dataclass(frozen=True)
class Verdict:
    """`answer` is one sentence, `findings` are one sentence each, `cautions` say what they do not show.

    Cautions come in the order of their weight. `details` are all numbers of each comparison: a heading with its facts.
    """

    answer: str
    lead: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    details: tuple[tuple[str, Facts], ...] = ()

    @property
    def sentences(self) -> list[str]:
        """Return the answer and the findings, none said twice."""
        return list(dict.fromkeys((self.answer, *self.findings)))


def verdict_of_comparisons(results: Results) -> Verdict:
    """Return the answer of each comparison that the study declared; without any, each arm's test result."""
    findings = plain_sentences(results) or [
        f"{arm.label} ({configuration_text(arm.configuration)}): test {results.metric.label} {estimate_text(arm.test)}."
        for arm in arm_summaries(results)
    ]
    return verdict_of(results, findings, answer_sentence(results))


def verdict_of(results: Results, findings: Iterable[str], answer: str = "", own: Iterable[str] = ()) -> Verdict:
    """Return findings with their details and with the cautions of every study, the own ones among them.

    The answer is that of the comparisons, or else the one given, or else the first finding. Where the preset's numbers
    say nothing about methods, that is the only finding.
    """
    said = tuple(findings) if results.study.answers else plain_sentences(results)
    if results.comparisons or not results.study.answers:
        answer = answer_sentence(results)
    led, selected = (made(results) if results.study.answers else () for made in (headlines, comparisons))
    details = [(f"{one.heading}, {one.claim.name}", comparison_details(one)) for one in led if led is not selected]
    details += [(one.heading, comparison_details(one)) for one in selected]
    return Verdict(answer or said[0], lead(results), said, tuple(cautions(results, own)), tuple(details))


def lead(results: Results) -> str:
    """Say on which test set the answer was found."""
    test, chance = results.study.data.test, test_fact(results, chance_name(results))
    text = f"Test set: {test.subjects} subjects, {test.queries} queries."
    if chance is not None:
        text += f" A random ranking has an {results.metric.label} of {in_percent(chance)} %."
    return text


def cautions(results: Results, own: Iterable[str] = ()) -> list[str]:
    """Return what any reader should know before using the numbers, the weightiest first."""
    found, synthetic = headlines(results), results.study.data.synthetic
    return [
        *_below_chance(results),
        *filter(None, (different_tasks_note(found), moves_caution(found))),
        *length_cautions(results),
        *own,
        *sentences_on_references(results, beaten=False),
        *["The images are synthetic: these results do not show how the methods do on radiographs."] * synthetic,
        *scope_caution(results),
        *_on_seeds(results),
        *_on_the_run(results),
        *leads_caution(results),
        *empty_batches_caution(results),
        *_in_development(results),
        *(f"Another run with the same seed: {note}." for note in dict.fromkeys(a.note for a in results.arms if a.note)),
        *comparison_cautions(results),
        *sentences_on_references(results, beaten=True),
        *_on_errors(results),
    ]


def _on_the_run(results: Results) -> Iterator[str]:
    study, subjects = results.study, results.study.data.test.subjects
    if own := results.own_trainers:
        yield f"This study's own code trained the models, not this package: {'; '.join(own)}."
    if study.changed:
        said = ", ".join(f"{name} = {value}" for name, value in study.changed.items())
        yield f"This run changed the preset {study.preset}: {said}."
    devices = Counter(one.record.computed_on for one in results.every_trial if one.record and one.record.has_result)
    del devices["cpu"]  # of older records nobody knows which
    if len(devices) > 1:
        where = listed(f"{number} on {device}" for device, number in devices.most_common())
        pairs = "Two arms with the same seed on different devices count as two seeds."
        yield f"The trials ran on {len(devices)} kinds of device: {where}. {OTHER_DEVICE}. {pairs}"
    if subjects < SMALL_TEST_SET:
        yield (
            f"The test set has only {subjects} subjects: one more or less moves {results.metric.label} by about "
            f"{decimal(100 / max(subjects, 1), 1)} points. A ± over seeds does not cover that."
        )
    without, queries = (test_fact(results, name) for name in ("queries_without_match", "queries"))
    if without and queries:
        yield f"{int(without)} of {int(queries)} test queries have no match in the gallery."


def _on_errors(results: Results) -> Iterator[str]:
    """Say of what a test value and its ± are."""
    yield protocol_sentence(results)
    yield "A test ± is the SE over seeds on one fixed set of subjects: it covers training, not the choice of subjects."
    if results.searched:
        yield "A validation ± is the SE over folds, which share training subjects; do not compare it with a test ±."


def _below_chance(results: Results) -> Iterator[str]:
    """Name the arms that have collapsed, and others whose model tells people apart worse than a random ranking."""
    yield from filter(None, [collapsed_note(results)])
    chance, sign = test_fact(results, chance_name(results)), 1 if results.metric.higher_is_better else -1
    if chance is None:
        return
    others = [arm for arm in arm_summaries(results) if not arm.collapsed]
    if worse := [arm.label for arm in others if sign * arm.test.stat.mean < sign * chance]:
        yield f"Worse than a random ranking: {listed(worse)}."


def _in_development(results: Results) -> Iterator[str]:
    """Say which validation queries were left out, and what replicates warn of."""
    folds = results.study.folds
    without = sum(fold.validation_queries_without_match for fold in folds)
    if without:
        queries = without + sum(fold.validation_queries for fold in folds)
        yield f"{without} of {queries} validation queries have no match in their gallery; they are left out."
    final = [t.record for t in results.trials if t.record and t.stage == "replicate"]
    yield from (f"{warning}." for warning in sorted({warning for record in final for warning in record.warnings}))


def _on_seeds(results: Results) -> Iterator[str]:
    """Name the arms that have so few seeds that their SE says little."""
    few = [arm for arm in results.arms if arm.replicates < SEEDS_OF_AN_SE]
    counts = sorted({arm.replicates for arm in few})
    if few:
        n = f"{' or '.join(map(str, counts))} seed{'' if counts == [1] else 's'}"
        which = "" if len(few) == len(results.arms) else f" for {listed(arm.label for arm in few)}"
        yield f"Only {n}{which}: intervals from so few are wide or missing."


def epochs_caution(results: Results, why: str) -> list[str]:
    """Say that trials trained for fewer epochs than the paper's, and why this matters; nothing if they did not."""
    completed = [t.record for t in results.trials if t.record and t.status == "completed"]
    trained = [record.cost.epochs // max(len(record.members), 1) for record in completed]
    epochs = {number for number in trained if number > 0}
    if not epochs or min(epochs) >= PAPER_EPOCHS:
        return []
    given = " or ".join(map(str, sorted(epochs)))
    return [f"Models trained for {given} epochs; the paper's trained for {PAPER_EPOCHS}. {why}"]
