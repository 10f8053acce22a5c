"""The answer in words, with its numbers: what was found, on which data, and what that does not show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports.parts.cautions import cautions, varying_margins_caution
from reports.parts.comparisons import Comparison, comparisons, different_tasks_note, margin_text
from reports.reading.results import Results
from reports.reading.summary import ArmSummary, Estimate, arm_summaries, chance_name, test_fact
from reports.stats import PairedDifference, smallest_difference
from reports.writing.captions import data_phrase
from reports.writing.formats import configuration_text, decimal, mean_se_text, p_text, percent, points


@dataclass(frozen=True)
class Verdict:
    """`findings` answer the question, `cautions` say what they do not show, `cards` are the figures at a glance."""

    lead: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    cards: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def estimate_text(value: Estimate) -> str:
    """`72.00 ± 0.71 % (n = 5 seeds)`, or what is missing."""
    if value.stat.n == 0:
        return f"no result yet (n = 0 of {value.of} {value.unit}s)"
    plural = "" if value.n_text == "1" else "s"
    return f"{mean_se_text(value.stat)} % (n = {value.n_text} {value.unit}{plural})"


def verdict_of_comparisons(results: Results) -> Verdict:
    """The answer of each comparison that the study declared; without any, each arm's test result."""
    found = comparisons(results)
    return Verdict(
        lead=lead(results),
        findings=tuple(findings(results, found) if found else _arm_findings(results)),
        cautions=(
            *(_interpretation(one) for one in found if one.paired.n and one.same_task),
            *comparison_cautions(found),
            *varying_margins_caution(results),
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
    return [_finding(one, results.searched) for one in found]


def _finding(one: Comparison, searched: bool) -> str:
    (a, b), cost_a, cost_b = one.names, one.a.cost, one.b.cost
    text = (
        f"{one.heading()}: {_answer(one)}. Test {one.metric.label}: {a} {estimate_text(one.a.test)}, {b} "
        f"{estimate_text(one.b.test)}. {_difference_text(one)}"
    )
    if not searched:
        return text
    text += f" In its search {a} trained {_n_s(one.a)}, {b} {_n_s(one.b)}; "
    if math.isnan(one.seconds_ratio):
        return text + "the ratio of their search costs is not known."
    over = _search_is_over(one.a) and _search_is_over(one.b)
    return text + (
        f"{b} took {decimal(one.seconds_ratio, 2)} times the device-seconds of {a} "
        f"({decimal(cost_b.device_seconds, 1)} against {decimal(cost_a.device_seconds, 1)}"
        f"{'' if over else '; a search is not finished, so this will change'})."
    )


def _search_is_over(arm: ArmSummary) -> bool:
    """Whether a search has started every configuration and selected one (a failed trial has its cost, too)."""
    return arm.configuration is not None and arm.cost.n_s == arm.planned_n_s


def _answer(one: Comparison) -> str:
    """The answer of a comparison in a few words."""
    paired = one.paired
    if not one.same_task:
        return "scored on different tasks, so not tested"
    if paired.low is None or paired.high is None:
        return "no answer yet"
    scored = f"{one.names[0]} scored {'better' if one.better else 'worse'}"
    differs = not paired.low <= 0 <= paired.high
    if one.equivalence.equivalent:
        also = f", though {scored}" if differs else ""
        return f"equivalent within ±{margin_text(one.equivalence.margin)}{also}"
    return scored if differs else "neither is shown to be better, nor the two to be equivalent"


def _n_s(arm: ArmSummary) -> str:
    done = "" if arm.cost.n_s == arm.planned_n_s else f" of {arm.planned_n_s} planned"
    return f"N_s = {arm.cost.n_s}{done}"


def _difference_text(one: Comparison) -> str:
    paired = one.paired
    if paired.n == 0:
        return "There is no seed that both completed, so no difference can be given."
    a, b = one.names
    text = f"Paired by seed, {a} minus {b} is {points(paired.difference)} percentage points"
    if paired.low is None:
        return f"{text} (no interval: {paired.note})."
    note = f"; {paired.note}" if paired.note else ""
    return (
        f"{text}, 95 % CI {points(paired.low)} to {points(paired.high)} "
        f"({p_text(paired.p)}, n = {paired.n} pairs{note})."
    )


def _interpretation(one: Comparison) -> str:
    """What the interval and the equivalence test allow one to say, and no more."""
    paired, tost = one.paired, one.equivalence
    if paired.low is None or paired.high is None:
        return f"{one.heading()}: without an interval the difference shows nothing about other seeds."
    shown = f"Equivalence within ±{margin_text(tost.margin)} {'is' if tost.equivalent else 'is not'} shown"
    tests = f"{shown} (two one-sided tests, {p_text(tost.p)})."
    if not paired.low <= 0 <= paired.high:
        scored = f"{one.names[0]} is {'better' if one.better else 'worse'}"
        return f"{one.heading()}: the interval excludes 0; {scored} over seeds on this test set. {tests}"
    reach = percent(max(-paired.low, paired.high), 2)
    alone = "That alone is no evidence of equivalence: differences" if not tost.equivalent else "Differences"
    return (
        f"{one.heading()}: the interval includes 0, so no difference is shown. {alone} of up to {reach} percentage "
        f"points remain compatible with these seeds. {_power(paired)}{tests}"
    )


def _power(paired: PairedDifference) -> str:
    """The minimum detectable difference with so many pairs that vary so much; empty if that is not known."""
    least = smallest_difference(paired.sd, paired.n)
    if least.value is None:
        return ""
    size = "larger than any possible one" if least.value > 1 else f"{percent(least.value)} percentage points"
    return (
        f"With this many seeds and this much variation the minimum detectable difference is {size} "
        f"(power {percent(least.power, 0)} %). "
    )


def comparison_cautions(found: Sequence[Comparison]) -> list[str]:
    """That intervals of several comparisons are not corrected for their number; and comparisons that test nothing."""
    several = (
        [f"The intervals of the {len(found)} comparisons are each by itself, not corrected for their number."]
        if len(found) > 1
        else []
    )
    return [*several, *filter(None, [different_tasks_note(found)])]


def cards(results: Results, found: Sequence[Comparison]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Each comparison at a glance: a heading, and names with their values."""
    return tuple((one.heading("vs"), _card(one, results.searched)) for one in found)


def _card(one: Comparison, searched: bool) -> tuple[tuple[str, str], ...]:
    (a, b), paired, label, ratio = one.names, one.paired, one.metric.label, one.seconds_ratio
    interval = f" [{points(paired.low)}, {points(paired.high)}]" if paired.low is not None else ""
    facts = (
        (f"{_capital(a)}, test {label}", estimate_text(one.a.test)),
        (f"{_capital(b)}, test {label}", estimate_text(one.b.test)),
        ("Difference, percentage points [95 % CI]", points(paired.difference) + interval if paired.n else "n/a"),
    )
    if not searched:
        return facts
    return (
        *facts,
        (f"N_s, {a} and {b}", f"{one.a.cost.n_s} and {one.b.cost.n_s}"),
        (f"Search cost, {b} ÷ {a}", "n/a" if math.isnan(ratio) else f"{decimal(ratio, 2)} ×"),
    )


def _capital(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"
