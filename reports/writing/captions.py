"""Phrases that captions and sentences share: on which data, over how many seeds, and how a configuration was found."""

from __future__ import annotations

from reports.reading.results import Results
from reports.reading.summary import arm_summaries


def data_phrase(results: Results) -> str:
    """Which data the numbers are on, as every caption says it."""
    data = results.study.data
    return "phantom images - synthetic, not radiographs" if data.synthetic else data.name


def caption(results: Results, text: str) -> str:
    """A caption that ends with the data."""
    return f"{text} Data: {data_phrase(results)}."


def seeds_phrase(results: Results) -> str:
    """`n = 5`, and the arms of which fewer seeds count."""
    arms = arm_summaries(results)
    short = [f"{arm.label} n = {arm.test.n_text}" for arm in arms if not arm.test.complete]
    return f"n = {results.seeds_text}" + (f" except {', '.join(short)}" if short else "")


def chosen_word(results: Results) -> str:
    """How an arm came by the configuration that is tested."""
    return "selected" if results.searched else "given"
