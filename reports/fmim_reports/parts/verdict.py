"""The answer in words, with its numbers: what was found, on which data, and what that does not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fmim_reports.parts.cautions import cautions
from fmim_reports.parts.comparisons import Comparison, comparisons, corrected
from fmim_reports.parts.comparisons.words import capital, comparison_cautions, estimate_text, finding, interpretation
from fmim_reports.parts.training.learning_curves import trailing_cautions
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, chance_name, test_fact
from fmim_reports.stats import CostRatio
from fmim_reports.writing.captions import data_phrase
from fmim_reports.writing.formats import configuration_text, decimal, percent, points


@dataclass(frozen=True)
class Verdict:
    """`findings` answer the question, `cautions` say what they do not show, `cards` are the figures at a glance."""

    lead: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    cards: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def verdict_of_comparisons(results: Results) -> Verdict:
    """The answer of each comparison that the study declared; without any, each arm's test result."""
    found = comparisons(results)
    return Verdict(
        lead=lead(results),
        findings=tuple(findings(results, found) if found else _arm_findings(results)),
        cautions=(
            *interpretations(found),
            *comparison_cautions(found, results.selects),
            *trailing_cautions(results),
            *cautions(results),
        ),
        cards=cards(results, found),
    )


def _arm_findings(results: Results) -> list[str]:
    return [
        f"{arm.label} ({configuration_text(arm.configuration)}): test {results.metric.label} {estimate_text(arm.test)}."
        for arm in arm_summaries(results)
    ]


def lead(results: Results) -> str:
    """On which data the answer was found."""
    test = results.study.data.test
    text = f"On {data_phrase(results)} (test set: {test.subjects} subjects, {test.queries} queries)"
    chance = test_fact(results, chance_name(results))
    if chance is not None:
        text += f", where the {results.metric.label} of a random ranking is {percent(chance)} %"
    return text + ":"


def findings(results: Results, found: Sequence[Comparison]) -> list[str]:
    """What each comparison shows, with its numbers."""
    by_holm = corrected(found)
    return [finding(one, by_holm, results.searched) for one in found]


def interpretations(found: Sequence[Comparison]) -> list[str]:
    """What the tests of each comparison allow one to say."""
    by_holm = corrected(found)
    return [interpretation(one, by_holm) for one in found if one.paired.n and one.same_task]


def cards(results: Results, found: Sequence[Comparison]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Each comparison at a glance: a heading, and names with their values."""
    return tuple((one.heading("vs"), _card(one, results.searched)) for one in found)


def _card(one: Comparison, searched: bool) -> tuple[tuple[str, str], ...]:
    (a, b), found, label = one.names, one.uncertainty, one.metric.label
    interval = f" [{points(found.low)}, {points(found.high)}]" if found.low is not None else ""
    difference = points(one.paired.difference) + interval if one.paired.n else "n/a"
    facts = (
        (f"{capital(a)}, test {label}", estimate_text(one.a.test)),
        (f"{capital(b)}, test {label}", estimate_text(one.b.test)),
        (f"Difference, percentage points [95 % CI over {one.over}]", difference),
    )
    if not searched:
        return facts
    return (
        *facts,
        (f"N_s, {a} and {b}", f"{one.a.cost.n_s} and {one.b.cost.n_s}"),
        (f"Search epochs, {b} ÷ {a}", "n/a" if one.epochs_ratio is None else f"{decimal(one.epochs_ratio, 2)} ×"),
        (f"Search device-seconds, {b} ÷ {a} [95 % CI]", _seconds(one.seconds)),
    )


def _seconds(found: CostRatio) -> str:
    if found.ratio is None:
        return "n/a"
    if found.low is None or found.high is None:
        return f"{decimal(found.ratio, 2)} × [n/a]"
    return f"{decimal(found.ratio, 2)} × [{decimal(found.low, 2)}, {decimal(found.high, 2)}]"
