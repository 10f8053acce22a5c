"""Phrases that captions and sentences share: on which data, over how many seeds, and how a configuration was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from fmim_reports.reading.cost import cost_of, trained_here
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.reading.summary import Estimate, arm_summaries, on_reference, queries_at
from fmim_reports.writing.formats import DATA, decimal, in_percent, listed

KEPT = {"last": "last", "best": "best validation", "best_all_pairs": "best all-pairs validation"}
FEW_QUERIES = 30
"""A time after baseline with fewer has a star in figures."""
OTHER_DEVICE = (
    "Another kind of processor or GPU, or another number of threads, rounds differently and counts as another seed"
)


def source_line(results: Results) -> str:
    """Return what stands under the axes of a figure: on which data it is."""
    return "data: phantom images, synthetic" if results.study.data.synthetic else f"data: {results.study.data.phrase}"


def caption(results: Results, text: str) -> str:
    """Return a caption that ends with the data."""
    return f"{text}{DATA}{results.study.data.phrase}."


def alt_text(parts: Iterable[str], most: int = 45) -> str:
    """Return the parts of a text for those who see no figure, of so many words, and how many more there are."""
    every = list(parts)
    words = list(accumulate(len(part.split()) for part in every))
    shown = max(1, sum(count <= most for count in words))
    rest = len(every) - shown
    return "; ".join(every[:shown]) + (f"; {rest} more" if rest > 0 else "")


def seeds_phrase(results: Results) -> str:
    """Return `n = 5`, and the arms of which fewer seeds count."""
    return replicates_phrase(results.seeds_text, {arm.label: arm.test for arm in arm_summaries(results)})


def replicates_phrase(planned: str, found: Mapping[str, Estimate]) -> str:
    """Return `n = 5`, the planned replicates, and by name what fewer of them count for: `except Triplet n = 4 of 5`."""
    short = [f"{name} n = {estimate.n_text}" for name, estimate in found.items() if not estimate.complete]
    return f"n = {planned}" + (f" except {', '.join(short)}" if short else "")


def starred(results: Results, time: int) -> str:
    """Return a time after baseline, with a star if fewer queries than `FEW_QUERIES` are scored there."""
    return f"{time}{'*' * (queries_at(results, time) < FEW_QUERIES)}"


def star_note(results: Results, times: Iterable[int]) -> str:
    """Return what a caption says of the stars; empty where no time has one."""
    few = any("*" in starred(results, time) for time in times)
    return f" * Fewer than {FEW_QUERIES} queries." if few else ""


def test_models(results: Results) -> str:
    """Return what each seed tests."""
    models = results.study.models_per_replicate
    if results.study.test_protocol == "fold_ensemble":
        return f"{models} models per seed, each trained without one fold, with averaged distances"
    return "one model per seed, trained on all development subjects"


def curve_model(results: Results) -> str:
    """Return whose curves over epochs are shown."""
    ensemble = results.study.test_protocol == "fold_ensemble"
    return "the first fold's model of each seed" if ensemble else "each seed's model"


def protocol_sentence(results: Results) -> str:
    """Say how the test values came about."""
    kept = f"kept at its {KEPT[results.study.train['keep']]} epoch"
    if results.study.test_protocol == "fold_ensemble":
        return (
            f"Each seed tests {results.study.models_per_replicate} models, each trained on all development subjects "
            f"but one fold's, {kept}, and averages their distances, as the paper's authors do."
        )
    return (
        f"Each seed tests one model, trained on all development subjects and {kept}; the paper's authors average the "
        "distances of five fold models instead."
    )


def chosen_word(results: Results) -> str:
    """Say how an arm came by the configuration that is tested."""
    return "selected" if results.searched else "given"


def reuse_sentence(trials: Sequence[PlannedTrial]) -> str:
    """Say how many trials reuse which others' records, and what those that ran here cost; blank where none did."""
    folders = Counter(trial.reused_from for trial in trials if trial.reused_from)
    if not folders:
        return ""
    named = ", ".join(f"{number} from {folder}" for folder, number in sorted(folders.items()))
    whole, here = cost_of(trials), cost_of(trained_here(trials))
    spent = f"{decimal(here.device_seconds, 1)} of {decimal(whole.device_seconds, 1)} device-seconds"
    return (
        f"{folders.total()} of {whole.trials} trials reuse the result of an equal one ({named}) and count with its "
        f"cost. This study itself spent {spent}."
    )


def references_note(results: Results) -> str:
    """Say what the references of a table are; empty where there are none."""
    if not results.references:
        return ""
    told = "; ".join(dict.fromkeys(f"{one.label.partition(' (')[0]}: {one.about}" for one in results.references))
    return f"References are baselines that the study does not train: they are not arms, and select nothing. {told}."


def collapsed_note(results: Results) -> str:
    """Name the arms with collapsed embeddings, and say why they score so low; empty where none has any."""
    found = [arm for arm in arm_summaries(results) if arm.collapsed]
    arms = listed(f"{arm.label} ({arm.collapsed} of {arm.test.stat.n} seeds)" for arm in found)
    why = f"mean Δ ended at 0, so all images look alike and {results.metric.label} is worse than a random ranking"
    return f"Collapsed embeddings ({why}): {arms}." if found else ""


def sentences_on_references(results: Results, beaten: bool) -> list[str]:
    """Name the references that all arms beside them have `beaten`, or else those that some have not, by their means.

    Only arms and references with a result count; nothing is said before there are both.
    """
    metric, found = results.metric, list[str]()
    sign = 1 if metric.higher_is_better else -1
    tested = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    for reference in results.references:
        stat = on_reference(results, reference, metric.name).stat
        beside = [arm for arm in tested if arm.name in reference.arms]
        behind = sum(not sign * arm.test.stat.mean > sign * stat.mean for arm in beside)  # not-a-number is behind
        if stat.n and beside and beaten is not bool(behind):
            value = f"{reference.label} ({in_percent(stat.mean, 1)} %)"
            many = "every arm" if behind == len(beside) else f"{behind} of {len(beside)} arms"
            found.append(value if beaten else f"{value} as {many}")
    score = "score worse than every arm" if beaten else "score at least as well as trained arms"
    return [f"References without training {score}: {listed(found)}."] if found else []
