"""The answer of each comparison in a short sentence, and all its numbers in words."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

from fmim_reports.parts.comparisons.comparison import CONFIGURATIONS, Comparison
from fmim_reports.parts.comparisons.difference import ALPHA
from fmim_reports.parts.comparisons.pipelines import headlines
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate
from fmim_reports.stats import ENOUGH_POWER, Power
from fmim_reports.writing.formats import decimal, in_percent, mean_se_text, p_text, points

Facts = tuple[tuple[str, str], ...]
SHOWN_AS_FRACTION = 20  # largest denominator that a reader takes in at once; 37/113 is easier as 33 %
_ENOUGH = f"{in_percent(ENOUGH_POWER, 0)} %"


def estimate_text(value: Estimate) -> str:
    """Return `72.00 ± 0.71 % (n = 5 seeds)`, or what is missing."""
    if value.stat.n == 0:
        return f"no result yet (n = 0 of {value.of} {value.unit}s)"
    plural = "" if value.n_text == "1" else "s"
    return f"{mean_se_text(value.stat)} % (n = {value.n_text} {value.unit}{plural})"


def capital(name: str) -> str:
    """Return a name as a sentence or a line begins with it."""
    return f"{name[0].upper()}{name[1:]}"


def margin_text(margin: float) -> str:
    """Return a margin of equivalence in words: `1 point`, `2.5 points`, of percent."""
    return f"{100 * margin:g} point{'' if 100 * margin == 1 else 's'}"


def no_answer(results: Results) -> str:
    """Say that the preset's numbers say nothing about methods."""
    return f"The preset {results.study.preset} only checks that everything runs: it gives no answer about methods."


def plain_sentences(results: Results) -> tuple[str, ...]:
    """Return one sentence per comparison, in the order in which the study declared them; none without comparisons.

    Each has the difference with its interval, what the tests show of it once corrected by Holm, and how much of the
    other arm's search the arm needed, in epochs, which are exact. A preset without an answer has one sentence.
    """
    return tuple(map(plain_sentence, headlines(results))) if results.study.answers else (no_answer(results),)


def plain_sentence(one: Comparison) -> str:
    """Return `Triplet: AutoMargin scored 4.8 points lower than grid search in mAP (95 % CI …): worse, with …`."""
    a, b = one.names
    arm = f"{one.group}: {a}" if one.group else capital(a)
    if one.value is None:
        at_chance = f" Diverged seeds scored at chance: {points(one.bound.difference, 1)}." if one.bound else ""
        return f"{arm} cannot be compared with {b} yet: no {one.claim.pair} is completed by both.{at_chance}"
    if math.isnan(one.value):
        return f"{arm} cannot be compared with {b}: the {one.metric.label} of a seed is not a number."
    return f"{arm} scored {_by_how_much(one, one.value)}: {_shown(one)}{_cost(one)}."


def _by_how_much(one: Comparison, difference: float) -> str:
    """Say by how much a differs from b, with the interval, and the seeds where some are missing."""
    low, high = one.uncertainty.low, one.uncertainty.high
    digits = _digits(difference, low or 0.0, high or 0.0)
    size = in_percent(abs(difference), digits)
    than = f"{size} points {'lower' if difference < 0 else 'higher'} than" if float(size) else "the same as"
    said = [] if one.metric.higher_is_better else ["lower is better"]
    said += [] if low is None else [f"95 % CI {points(low, digits)} to {points(high, digits)}"]
    said += [] if one.paired.n == one.planned else [f"{one.paired.n} of {one.planned} {one.claim.pair}s"]
    said += [f"{points(one.bound.difference, 1)} with diverged seeds scored at chance"] if one.bound else []
    said += [f"{name} has collapsed" for name, arm in zip(one.names, (one.a, one.b), strict=True) if arm.collapsed]
    return f"{than} {one.names[1]} in {one.metric.label}" + (f" ({', '.join(said)})" if said else "")


def _digits(*values: float) -> int:
    """Return the fewest digits, at least one and at most three, with which no value but zero is shown as zero."""
    return next((digits for digits in (1, 2) if all(not v or round(abs(100 * v), digits) for v in values)), 3)


def _shown(one: Comparison) -> str:
    """Return what the tests allow one to say of the difference."""
    if not one.tested:
        return "not tested, because the two tasks differ in difficulty"
    if one.p is None:
        why = "there is only one" if one.paired.n == 1 else "it is the same with every"
        return f"not tested, because {why} {one.claim.pair}"
    if one.moves and one.longer is not None:
        factor, change = f"{one.longer[0].factor:g}", points(one.longer[1], 1)
        return f"undecided, because training {factor} times as long changes it by {change} points on the folds"
    if one.equivalent:
        also = ", although a difference is shown" if one.differs else ""
        return f"equivalent{one.claim.added} within ±{margin_text(one.margin)}{also}"
    if one.differs:
        return f"{one.shown}{one.claim.added}"
    excludes_0 = one.uncertainty.low is not None and not one.uncertainty.low <= 0 <= (one.uncertainty.high or 0.0)
    corrected = f" after correction for {_corrected_for(one)}" if excludes_0 else ""
    return f"inconclusive{one.claim.added}{corrected}"


def _corrected_for(one: Comparison) -> str:
    return " and ".join([f"{one.family} comparisons"] * (one.family > 1) + ["looks"] * (one.share < 1))


def _cost(one: Comparison) -> str:
    """Say with how much of b's search a was found; nothing where one of them trained nothing in a search."""
    ours, theirs = one.a.cost.epochs, one.b.cost.epochs
    if not ours or not theirs:
        return ""
    unfinished = "" if one.searches_are_over else " (not finished)"
    return f", with {share_text([Fraction(ours, theirs)])}{unfinished}"


def share_text(ratios: Collection[Fraction]) -> str:
    """Return `1/16 to 1/2 of the search epochs` or `2 to 4 times the …`; percent where a fraction is hard to read."""
    least, most = min(ratios), max(ratios)
    if least == most == 1:
        return "the same number of search epochs"
    percent = max(least.denominator, most.denominator) > SHOWN_AS_FRACTION
    low, high = ratio_text(least, percent), ratio_text(most, percent)
    both = high if least == most else f"{low.removesuffix(' times') if high.endswith('times') else low} to {high}"
    return f"{both}{' of' if most < 1 else ''} the search epochs"


def ratio_text(ratio: Fraction, percent: bool = False) -> str:
    """Return `1/4`, `51 %` where a fraction is hard to read or `percent` is given, or `2 times`."""
    if ratio >= 1:
        return f"{decimal(float(ratio), 0 if ratio.denominator == 1 else 1)} times"
    if ratio.denominator <= SHOWN_AS_FRACTION and not percent:
        return f"{ratio.numerator}/{ratio.denominator}"
    return f"{in_percent(float(ratio), 0 if ratio > Fraction(1, 10) else 1)} %"


def comparison_details(one: Comparison) -> Facts:
    """Return what a comparison's plain sentence rests on: names of facts, each in a sentence with its numbers."""
    (a, b), seeds = one.names, one.claim is CONFIGURATIONS
    facts = {
        f"Test {one.metric.label}": f"{a} {estimate_text(one.a.test)}, {b} {estimate_text(one.b.test)}." * seeds,
        "Mean difference": _difference(one),
        "Test of the difference": _difference_shown(one),
        "Equivalence": _equivalence_shown(one),
        "Power": power_sentence(one.power, f"variation over {one.over}") if one.power and one.tested and seeds else "",
    }
    return tuple((name, capital(text)) for name, text in facts.items() if text)


def _difference(one: Comparison) -> str:
    found = one.uncertainty
    if one.value is None:
        return "not known: no seed is completed by both."
    difference = f"{one.names[0]} minus {one.names[1]} is {points(one.value)} points"
    if found.low is None:
        return f"{difference}, without an interval ({one.note})."
    subjects = "" if one.crossed is None else f" × {one.crossed.subjects} subjects"
    note = f"; {one.note}" if one.note else ""
    interval = f"95 % CI {points(found.low)} to {points(found.high)} over {one.over}"
    return f"{difference}, {interval} (n = {one.paired.n} {one.claim.pair}s{subjects}{note})."


def _difference_shown(one: Comparison) -> str:
    """Say if the test shows a difference; nothing without a difference or an interval."""
    found = one.uncertainty
    if not one.tested:
        return "not tested: the arms are scored on different tasks."
    if one.p is None or found.low is None or found.high is None:
        return ""
    numbers = _p_values(one.p, one.p_holm, one.family)
    if one.differs:
        subjects = ", on this test set" if one.crossed is None else " and other subjects like these"
        return f"shown ({numbers}): {one.names[0]} is {one.shown} for other {one.claim.pair}s{subjects}."
    if not found.low <= 0 <= found.high:
        why = "longer training changes it" if one.moves else f"the corrected p value is not below {ALPHA:g}"
        return f"not shown ({numbers}): the interval excludes 0, but {why}."
    most = in_percent(max(-found.low, found.high), 2)
    return f"not shown ({numbers}); a difference of up to {most} points remains possible."


def _equivalence_shown(one: Comparison) -> str:
    """Say if the test shows equivalence; nothing where it is not tested."""
    if one.p_equivalence is None:
        return ""
    numbers = _p_values(one.p_equivalence, one.p_equivalence_holm, one.equivalence_family)
    shown = "shown" if one.equivalent else "not shown"
    least = f"the smallest margin that shows it is {_points(one.smallest_margin or math.inf)}"
    return f"{shown} within ±{margin_text(one.margin)} (two one-sided tests, {numbers}); {least}."


def _points(value: float) -> str:
    return "larger than any possible one" if value > 1 else f"{in_percent(value)} points"


def _p_values(p: float, by_holm: float | None, family: int) -> str:
    """Return a p value, and its correction for all comparisons; a single one needs none."""
    return f"{p_text(p)}; {p_text(by_holm)} by Holm over {family}" if by_holm is not None and family > 1 else p_text(p)


def power_sentence(power: Power, source: str) -> str:
    """Say what differences so many seeds detect, how often equal arms are shown equivalent, and what would help."""
    found = f"detect a {in_percent(power.smallest_difference, 1)}-point difference {_ENOUGH} of the time"
    if power.smallest_difference > 1:
        found = f"detect no difference {_ENOUGH} of the time"
    helps = " More seeds will not help; more test subjects will." if power.seeds_difference.seeds is None else ""
    equal = f"show equal arms to be equivalent {in_percent(power.equivalence, 0)} % of the time"
    return f"{power.seeds} seeds {found} and {equal} ({source}).{helps}"
