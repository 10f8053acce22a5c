"""Phrases that captions and sentences share: on which data, over how many seeds, and how a configuration was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fmim_reports.reading.cost import cost_of, trained_here
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.reading.summary import Estimate, arm_summaries, queries_at
from fmim_reports.writing.formats import decimal

FEW_QUERIES = 30
"""A mean over fewer looks it: hollow in figures."""


def data_phrase(results: Results) -> str:
    """Return on which data the numbers are, as every caption says it."""
    return results.study.data.phrase


def source_line(results: Results) -> str:
    """Return what stands under the axes of a figure: on which data it is."""
    return "data: phantom images, synthetic" if results.study.data.synthetic else f"data: {data_phrase(results)}"


def caption(results: Results, text: str) -> str:
    """Return a caption that ends with the data."""
    return f"{text} Data: {data_phrase(results)}."


def seeds_phrase(results: Results) -> str:
    """Return `n = 5`, and the arms of which fewer seeds count."""
    return replicates_phrase(results.seeds_text, {arm.label: arm.test for arm in arm_summaries(results)})


def replicates_phrase(planned: str, found: Mapping[str, Estimate]) -> str:
    """Return `n = 5`, the planned replicates, and by name what fewer of them count for: `except Triplet n = 4 of 5`."""
    short = [f"{name} n = {estimate.n_text}" for name, estimate in found.items() if not estimate.complete]
    return f"n = {planned}" + (f" except {', '.join(short)}" if short else "")


def few_queries(results: Results, times: Iterable[int]) -> dict[int, int]:
    """Return the times after baseline of which fewer queries than `FEW_QUERIES` are scored, with their number."""
    counts = {time: queries_at(results, time) for time in times}
    return {time: int(count) for time, count in counts.items() if count < FEW_QUERIES}


def few_queries_note(results: Results, times: Iterable[int]) -> str:
    """Return what a caption says of hollow markers; empty where no time has few queries."""
    found, unit = few_queries(results, times), results.interval.unit
    listed = ", ".join(f"{unit} {time}: {count}" for time, count in found.items())
    return f" Hollow: a mean over fewer than {FEW_QUERIES} queries ({listed})." if found else ""


def test_models(results: Results) -> str:
    """Return what each seed tests."""
    models = results.study.models_per_replicate
    if results.study.test_protocol == "fold_ensemble":
        return f"{models} models a seed, each trained without one fold, their distances averaged"
    return "one model a seed, trained on all development subjects"


def curve_model(results: Results) -> str:
    """Return whose curves over epochs are shown."""
    ensemble = results.study.test_protocol == "fold_ensemble"
    return "the first fold's model of each seed" if ensemble else "each seed's model"


def protocol_sentence(results: Results) -> str:
    """Say how the test values came about."""
    kept = f"kept at its {'best validation' if results.study.train['keep'] == 'best' else 'last'} epoch"
    if results.study.test_protocol == "fold_ensemble":
        return (
            f"Test values are of {results.study.models_per_replicate} models a seed, each trained on all development "
            f"subjects but one fold's, {kept}, and of the mean of their distances, as the paper's authors test."
        )
    return (
        f"Test values are of one model a seed, trained on all development subjects and {kept}; the paper's authors "
        "average the distances of five fold models instead."
    )


def chosen_word(results: Results) -> str:
    """Say how an arm came by the configuration that is tested."""
    return "selected" if results.searched else "given"


def reuse_sentence(trials: Sequence[PlannedTrial]) -> str:
    """Say how many trials took which others' records, and what those that ran here cost; blank where none did."""
    folders = Counter(trial.reused_from for trial in trials if trial.reused_from)
    if not folders:
        return ""
    named = ", ".join(f"{number} from {folder}" for folder, number in sorted(folders.items()))
    whole, here = cost_of(trials), cost_of(trained_here(trials))
    spent = f"{decimal(here.device_seconds, 1)} of {decimal(whole.device_seconds, 1)} device-seconds"
    return (
        f"{folders.total()} of {whole.trials} trials were not trained, since equal ones were ({named}), and count as "
        f"what those cost: {spent} were spent in this study."
    )
