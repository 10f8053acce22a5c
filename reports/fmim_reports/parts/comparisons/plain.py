"""The answer of each comparison in one short sentence, for whoever reads nothing else."""

from __future__ import annotations

import math
from fractions import Fraction

from fmim_reports.parts.comparisons.comparison import Comparison, comparisons
from fmim_reports.parts.comparisons.words import capital, margin_text
from fmim_reports.reading.results import Results
from fmim_reports.writing.formats import decimal, in_percent, points

SHOWN_AS_FRACTION = 20  # largest denominator that a reader takes in at once; 37/113 is easier as 33 %


def plain_sentences(results: Results) -> tuple[str, ...]:
    """Return one sentence per comparison, in the order in which the study declared them; none without comparisons.

    It says the difference with its interval, what the tests corrected by Holm show, and how much of the other arm's
    search cost the arm needed, in epochs, which are exact.
    """
    return tuple(map(plain_sentence, comparisons(results)))


def plain_sentence(one: Comparison) -> str:
    """Return `Triplet: AutoMargin scored 4.8 percentage points lower than grid search in mAP (95 % CI …), …`."""
    a, b = one.names
    arm = f"{one.group}: {a}" if one.group else capital(a)
    if one.value is None:
        return f"{arm} against {b}: no answer yet, since no seed is completed by both."
    if math.isnan(one.value):
        return f"{arm} against {b}: no answer, since the {one.metric.label} of a seed is not a number."
    return f"{arm} scored {_difference(one, one.value)}, {_shown(one)}{_cost(one)}."


def _difference(one: Comparison, difference: float) -> str:
    """Say by how much a differs from b, with the interval, and the seeds where some are missing."""
    low, high = one.uncertainty.low, one.uncertainty.high
    digits = _digits(difference, low or 0.0, high or 0.0)
    size = in_percent(abs(difference), digits)
    than = f"{size} percentage points {'lower' if difference < 0 else 'higher'} than" if float(size) else "the same as"
    planned = min(one.a.test.of, one.b.test.of)
    said = [] if one.metric.higher_is_better else ["lower is better"]
    said += [] if low is None else [f"95 % CI {points(low, digits)} to {points(high, digits)}"]
    said += [] if one.paired.n == planned else [f"{one.paired.n} of {planned} seeds"]
    return f"{than} {one.names[1]} in {one.metric.label}" + (f" ({', '.join(said)})" if said else "")


def _digits(*values: float) -> int:
    """Return the fewest digits, at least one and at most three, with which no value but zero is shown as zero."""
    return next((digits for digits in (1, 2) if all(not v or round(abs(100 * v), digits) for v in values)), 3)


def _shown(one: Comparison) -> str:
    """Return what the tests allow one to say of the difference."""
    if not one.tested:
        return "on a task of another difficulty, so this says nothing about the training"
    if one.p is None:
        return f"{'with one seed' if one.paired.n == 1 else 'equally with every seed'}, so nothing can be tested"
    if one.equivalent:
        also = ", though a difference is shown" if one.differs else ""
        return f"which is equivalent within ±{margin_text(one.margin)}{also}"
    if one.differs:
        return f"which is shown to be {'better' if one.better else 'worse'}"
    excludes_0 = one.uncertainty.low is not None and not one.uncertainty.low <= 0 <= (one.uncertainty.high or 0.0)
    corrected_for = f", corrected for {one.family} comparisons," if excludes_0 else ""
    return f"so neither a difference{corrected_for} nor equivalence is shown"


def _cost(one: Comparison) -> str:
    """Say for how much of b's search cost a was found; nothing where one of them trained nothing in a search."""
    ours, theirs = one.a.cost.epochs, one.b.cost.epochs
    if not ours or not theirs:
        return ""
    over = one.a.search_is_over and one.b.search_is_over
    unit = "epochs" if over else "epochs; not finished"
    return f", for {_share(Fraction(ours, theirs))} search cost ({unit})"


def _share(ratio: Fraction) -> str:
    """Return `1/4 of the`, `the same`, `4 times the`; in percent or rounded where a fraction is hard to read."""
    if ratio == 1:
        return "the same"
    if ratio > 1:
        return f"{decimal(float(ratio), 0 if ratio.denominator == 1 else 1)} times the"
    if ratio.denominator <= SHOWN_AS_FRACTION:
        return f"{ratio.numerator}/{ratio.denominator} of the"
    return f"{in_percent(float(ratio), 0 if ratio > Fraction(1, 10) else 1)} % of the"
