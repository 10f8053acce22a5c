"""What any reader should know before using the numbers of a report, each with its number."""

from __future__ import annotations

from fmim_reports.parts.pipelines import selection_caution
from fmim_reports.parts.training.triplet_terms import empty_batches_caution
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, chance_name, test_fact
from fmim_reports.writing.captions import protocol_sentence
from fmim_reports.writing.formats import decimal
from fmim_reports.writing.references import sentences_on_references

FEW_SUBJECTS = 100
PAPER_EPOCHS = 100
ENOUGH_SEEDS = 5  # of fewer an SE is hardly known


def cautions(results: Results) -> list[str]:
    """What any reader should know before using the numbers, each with its number."""
    study, sentences = results.study, sentences_on_references(results)
    if study.preset == "smoke":
        sentences.append("The preset smoke only checks that everything runs: its numbers are no results.")
    if study.changed:
        said = ", ".join(f"{name} = {value}" for name, value in study.changed.items())
        sentences.append(f"This is not the preset {study.preset} as it is declared: the run set {said}.")
    if study.data.synthetic:
        sentences.append(
            "The images are synthetic phantoms: they show how the methods behave here, not how they do on radiographs."
        )
    subjects = study.data.test.subjects
    if subjects < FEW_SUBJECTS:
        sentences.append(
            f"The test set has only {subjects} subjects: one subject more or less matched moves "
            f"{results.metric.label} by about {decimal(100 / max(subjects, 1), 1)} percentage points, which a ± over "
            "seeds does not cover."
        )
    sentences.append(protocol_sentence(results))
    sentences.append(
        "A test ± is the SE over seeds on one fixed set of subjects: it covers training noise, not the choice of "
        "subjects. The interval of a difference says what it is over."
        + (
            " A validation ± is over folds, which differ in subjects but share training data; the two do not compare."
            if results.searched
            else ""
        )
    )
    sentences += selection_caution(results)
    without, queries = (test_fact(results, name) for name in ("queries_without_match", "queries"))
    if without is not None and queries is not None:
        sentences.append(
            f"{int(without)} of {int(queries)} test queries have no match in the gallery."
            if without
            else f"Each of the {int(queries)} test queries has a match in the gallery."
        )
    sentences += empty_batches_caution(results)
    sentences += _below_chance(results, test_fact(results, chance_name(results))) + _in_the_folds(results)
    sentences += [f"Another run with the same seed: {note}." for note in _notes(results)]
    return sentences + _few_seeds(results)


def _few_seeds(results: Results) -> list[str]:
    """Which arms have so few seeds that their SE says little."""
    few = [arm for arm in results.arms if arm.replicates < ENOUGH_SEEDS]
    if not few:
        return []
    n = " or ".join(map(str, sorted({arm.replicates for arm in few})))
    one = {arm.replicates for arm in few} == {1}
    which = "" if len(few) == len(results.arms) else f" for {', '.join(arm.label for arm in few)}"
    return [f"{n} seed{'' if one else 's'} planned{which}: intervals from so few are wide or do not exist."]


def _notes(results: Results) -> list[str]:
    """What the searchers declare of themselves, each once."""
    return list(dict.fromkeys(arm.note for arm in results.arms if arm.note))


def _in_the_folds(results: Results) -> list[str]:
    """What happened in development: validation queries left out, and subjects with too few images for a batch."""
    folds, sentences = results.study.folds, []
    without = sum(fold.validation_queries_without_match for fold in folds)
    scored = sum(fold.validation_queries for fold in folds)
    if without:
        sentences.append(
            f"{without} of {without + scored} validation queries have no match in their gallery: they are left out, "
            "not scored 0."
        )
    final = [t.record for t in results.trials if t.record and t.stage == "replicate"]
    return sentences + [f"{warning}." for warning in sorted({w for record in final for w in record.warnings})]


def _below_chance(results: Results, chance: float | None) -> list[str]:
    """Arms whose model tells nobody apart: a collapsed embedding, not a bad margin, is the usual reason."""
    if chance is None:
        return []
    sign = 1 if results.metric.higher_is_better else -1
    collapsed = [arm.label for arm in arm_summaries(results) if sign * arm.test.stat.mean < sign * chance]
    if not collapsed:
        return []
    return [
        f"Worse than a random ranking: {', '.join(collapsed)}. Among equal similarities the non-matching images "
        "rank first, so embeddings that have collapsed to one point score like this."
    ]


def epochs_caution(results: Results, why: str) -> list[str]:
    """That trials trained for fewer epochs than the paper's, and why this matters; none if they did not."""
    completed = [t.record for t in results.trials if t.record and t.status == "completed"]
    trained = [record.cost.epochs // max(len(record.members), 1) for record in completed]
    epochs = {number for number in trained if number > 0}
    if not epochs or min(epochs) >= PAPER_EPOCHS:
        return []
    given = " or ".join(map(str, sorted(epochs)))
    return [f"Models trained for {given} epochs, the paper's for {PAPER_EPOCHS}. {why}"]
