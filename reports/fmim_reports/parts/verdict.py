"""The answer in words, with its numbers: what was found, on which data, and what that does not show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fmim_reports.parts.cautions import cautions
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.plain import plain_sentences
from fmim_reports.parts.comparisons.words import Facts, comparison_cautions, comparison_details, estimate_text
from fmim_reports.parts.training.learning_curves import trailing_cautions
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, chance_name, test_fact
from fmim_reports.writing.captions import data_phrase
from fmim_reports.writing.formats import configuration_text, in_percent


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
    own = (*comparison_cautions(comparisons(results), results.selects), *trailing_cautions(results))
    return verdict_of(results, findings, *own)


def verdict_of(results: Results, findings: Iterable[str], *own: str) -> Verdict:
    """Return findings with their data and details, and the cautions of every study below the own ones."""
    return Verdict(lead(results), tuple(findings), (*own, *cautions(results)), details(results))


def lead(results: Results) -> str:
    """Say on which data the answer was found."""
    test = results.study.data.test
    text = f"On {data_phrase(results)} (test set: {test.subjects} subjects, {test.queries} queries)"
    chance = test_fact(results, chance_name(results))
    if chance is not None:
        text += f", where the {results.metric.label} of a random ranking is {in_percent(chance)} %"
    return text + ":"


def details(results: Results) -> tuple[tuple[str, Facts], ...]:
    """Return all numbers of each comparison that the study declared, under its heading."""
    return tuple((one.heading, comparison_details(one)) for one in comparisons(results))
