"""The scale of an axis on which arms stand: the arms that matter set it, and what lies beyond is marked at its edge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from fmim_reports.drawing.plotting import QUIET
from fmim_reports.reading.summary import Estimate
from fmim_reports.writing.formats import decimal

SPREADS = 5
LEAST_SPREAD = 2.0
"""Percentage points: arms within ten of the median are never off the scale, however close the others are."""
LONGER = 2
MOST_BEYOND = 1 / 3
RULE = "At the edge, with an arrow and its value: an arm far from the others."
"""A caption's words where an arm is off the scale."""
HOW_FAR = (
    "In figures, an arm stands at the edge if it would make the axis more than twice as long and is further from the "
    f"arms' median than {SPREADS} robust standard deviations (1.4826 × the median distance from it, at least "
    f"{LEAST_SPREAD:g} points)."
)
"""What the methods say of it."""
_ROOM = 0.05  # of the range, free at either end
_ROW = 0.11  # of the panel's height, for each arm that is off the scale
_SIDE = 0.16  # of the panel's width, for those beyond the left or right end


@dataclass(frozen=True)
class Extent:
    """The extent of an arm along the axis: its value, its lowest and highest point, and the ends of their bars."""

    value: float
    low: float
    high: float
    bars_low: float
    bars_high: float

    @classmethod
    def over(cls, values: Sequence[float], spreads: Sequence[float] = ()) -> Extent:
        """Return the extent of several points with a spread each; the value is their median."""
        around = [*spreads] or [0.0] * len(values)
        known = [(v, 0.0 if math.isnan(s) else s) for v, s in zip(values, around, strict=True) if not math.isnan(v)]
        if not known:
            return cls(*[math.nan] * 5)
        points, ends = [v for v, _ in known], [v + side * s for v, s in known for side in (-1, 1)]
        return cls(median(points), min(points), max(points), min(ends), max(ends))

    @classmethod
    def of_estimates(cls, estimates: Iterable[Estimate]) -> Extent:
        """Return the extent of these means ± SE, in percent."""
        stats = [estimate.stat for estimate in estimates]
        return cls.over([100 * stat.mean for stat in stats], [100 * (stat.se or 0.0) for stat in stats])

    @classmethod
    def with_interval(cls, value: float, low: float | None, high: float | None) -> Extent:
        """Return the extent of one fraction with its interval, in percentage points; without one it is its own."""
        ends = (100 * (value if end is None else end) for end in (low, high))
        return cls(100 * value, 100 * value, 100 * value, *ends)


@dataclass(frozen=True)
class Mark:
    """A point of an arm that is off the scale: where it stands on the other axis, its value as text, its look."""

    arm: str
    at: float
    text: str
    style: Mapping[str, Any]


@dataclass(frozen=True)
class Scale:
    """The ends of an axis, and the arms below and above them. Not a number where there is nothing to show."""

    low: float
    high: float
    below: frozenset[str]
    above: frozenset[str]

    @property
    def beyond(self) -> frozenset[str]:
        return self.below | self.above

    @property
    def note(self) -> str:
        """The caption's words on it; empty where every arm is on the scale."""
        return f" {RULE}" if self.beyond else ""


def scale_of(arms: Mapping[str, Extent], others: Mapping[str, Extent] | None = None) -> Scale:
    """Return the scale that the arms set, and which of them and of others, such as references, are beyond it.

    An arm is beyond where |x − m| > r = 5 max(1.4826 median |x − m|, 2), m being the median of the arms' values, and
    where the axis with all of them would be more than twice as long as without; but if that holds for more than a third
    of the arms, none is. The axis holds every point of the others, and their bars up to r from m.
    """
    known = {name: extent for name, extent in arms.items() if not math.isnan(extent.value)}
    if not known:
        return Scale(math.nan, math.nan, frozenset(), frozenset())
    middle = median(extent.value for extent in known.values())
    reach = SPREADS * max(1.4826 * median(abs(e.value - middle) for e in known.values()), LEAST_SPREAD)
    near = {name: extent for name, extent in known.items() if abs(extent.value - middle) <= reach}
    if len(near) < (1 - MOST_BEYOND) * len(known) or not _much_longer(known, near):
        near = known
        reach = max(reach, *(abs(extent.value - middle) for extent in known.values()))
    beside = {name: extent for name, extent in (others or {}).items() if not math.isnan(extent.value)}
    if not _much_longer(near | beside, near):
        near = near | beside
    far = {name: extent for name, extent in (known | beside).items() if name not in near}
    below, above = (frozenset(n for n, e in far.items() if side * (e.value - middle) > 0) for side in (-1, 1))
    low = min(min(extent.low, max(extent.bars_low, middle - reach)) for extent in near.values())
    high = max(max(extent.high, min(extent.bars_high, middle + reach)) for extent in near.values())
    return Scale(low, high, below, above)


def _much_longer(every: Mapping[str, Extent], near: Mapping[str, Extent]) -> bool:
    """Say whether an axis of the points of all is more than twice as long as one of those near."""
    whole, part = (max(e.high for e in es.values()) - min(e.low for e in es.values()) for es in (every, near))
    return whole > LONGER * max(part, SPREADS * LEAST_SPREAD)


def scale_y(panels: Mapping[Axes, Sequence[Mark]], scale: Scale) -> None:
    """Set the vertical axis that the panels share, with a row at its edge for each mark of a panel."""
    if math.isnan(scale.low):
        return
    rows = [max(sum(m.arm in side for m in marks) for marks in panels.values()) for side in (scale.below, scale.above)]
    begin, end = _with_room(scale)
    whole = (end - begin) / (1 - _ROW * sum(rows))
    ends = (begin - _ROW * rows[0] * whole, end + _ROW * rows[1] * whole)
    for axes, marks in panels.items():
        axes.set_ylim(*ends)
        axes.set_yticks(_ticks(begin, end))
        for side, arrow, edge, step in ((scale.below, "↓", 0.0, _ROW), (scale.above, "↑", 1.0, -_ROW)):
            found = [mark for mark in marks if mark.arm in side]
            for row, mark in enumerate(found):
                _mark(axes, mark, (mark.at, edge + step * (row + 0.55)), axes.get_xaxis_transform(), arrow)
            if found:
                border = begin if step > 0 else end
                axes.axhline(border, color=QUIET, linewidth=0.6, linestyle=(0, (1, 2)), label="_")


def scale_x(axes: Axes, marks: Sequence[Mark], scale: Scale) -> None:
    """Set the horizontal axis, with room at its edge for the marks, each in its own row."""
    if math.isnan(scale.low):
        return
    begin, end = _with_room(scale)
    sides = [float(any(m.arm in side for m in marks)) for side in (scale.below, scale.above)]
    whole = (end - begin) / (1 - _SIDE * sum(sides))
    axes.set_xlim(begin - _SIDE * sides[0] * whole, end + _SIDE * sides[1] * whole)
    axes.set_xticks(_ticks(begin, end))
    for side, arrow, edge in ((scale.below, "←", 0.02), (scale.above, "→", 1 - _SIDE + 0.02)):
        for mark in (one for one in marks if one.arm in side):
            _mark(axes, mark, (edge, mark.at), axes.get_yaxis_transform(), arrow)


def _with_room(scale: Scale) -> tuple[float, float]:
    room = max(_ROOM * (scale.high - scale.low), 0.25)
    return scale.low - room, scale.high + room


def _ticks(begin: float, end: float) -> list[float]:
    return [tick for tick in MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(begin, end) if begin <= tick <= end]


def _mark(axes: Axes, mark: Mark, place: tuple[float, float], transform: Any, arrow: str) -> None:
    """Draw the arm's marker with an arrow and its value beside it."""
    look = {**mark.style, "linestyle": "", "label": "_"}
    axes.plot(*([one] for one in place), transform=transform, clip_on=False, zorder=5, **look)
    right = axes.transAxes.inverted().transform(transform.transform(place))[0] > 0.6
    axes.annotate(
        f"{arrow} {mark.text}",
        place,
        xycoords=transform,
        xytext=(-5 if right else 5, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="center",
        fontsize=6.5,
    )


def range_text(values: Sequence[float]) -> str:
    """Return `1.5`, or `1.2 to 1.9` of several values."""
    known = [value for value in values if not math.isnan(value)]
    ends = list(dict.fromkeys(decimal(value, 1) for value in (min(known), max(known))))
    return " to ".join(ends)
