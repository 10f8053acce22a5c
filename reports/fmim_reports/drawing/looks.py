"""How arms and references look: one colour, marker, dash and filling each, the same in every figure of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fmim_reports.drawing.plotting import QUIET
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import arm_summaries

# Seven steps of lightness, L* from 34 to 72, so that grey tells them apart; in every kind of colour vision any two are
# at least 18 ΔE apart, and all stand out from a white page and from a dark one. Neighbours are far apart in lightness.
COLOURS = ("#4241a2", "#ce7d01", "#b01671", "#6fb07a", "#b044f0", "#22c0de", "#8c6735")
_MARKERS = "oDsv^PX*"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (2, 1)), (0, (5, 1, 1, 1)), (0, (1, 0.8)), (0, (8, 1, 3, 1)))
_REFERENCE_DASHES: tuple[Any, ...] = ((0, (1, 1)), (0, (4, 1.5)), (0, (4, 1, 1, 1)), "-")
CARD = "#ffffff"
"""Behind a figure; on the page the colour of the card, in its dark theme, too."""
_FACES: tuple[Mapping[str, Any], ...] = (
    {"fillstyle": "full"},
    {"markerfacecolor": CARD, "markeredgewidth": 1.1},
    {"fillstyle": "left", "markerfacecoloralt": CARD, "markeredgewidth": 0.9},
)
MOST_PANELS = len(_FACES)
"""Groups of arms that have a panel each, side by side in a column, and a filling of the markers each."""
_LONGEST = 34  # characters of what a legend shows behind a reference's name


@dataclass(frozen=True)
class Look:
    """How an arm or a reference looks, in every figure of its report.

    Args:
        name, title: of the arm or reference; the name is empty for any other line.
        label: what legends call it, which arms of different groups may share.
        group: that of the arm, which the `face` of its markers tells; empty for a reference.
        line: its colour, marker and dash, and by the name which artists are its.
    """

    name: str
    title: str
    label: str
    group: str
    face: Mapping[str, Any]
    line: Mapping[str, Any]

    @property
    def colour(self) -> str:
        return str(self.line["color"])

    @property
    def legend_names(self) -> tuple[str, str]:
        """The entries of a legend that stand for it."""
        return self.label, self.group


def line_style(position: int) -> dict[str, Any]:
    """Return the colour, marker and dash of a place in the order: neighbours differ in all three.

    Numbers of colours, markers and dashes (7, 8, 6) have no common multiple below 168: so late does one come again.
    """
    kinds = {"color": COLOURS, "marker": _MARKERS, "linestyle": _DASHES}
    return {kind: styles[position % len(styles)] for kind, styles in kinds.items()}


def series_look(title: str, **line: Any) -> Look:
    """Return the look of a line that is no arm's, such as published values: without a colour of the arms."""
    return Look("", title, title, "", {}, line)


@once
def arm_looks(results: Results) -> dict[str, Look]:
    """Return the look of every arm by its name, in the order in which the study declares them.

    With few groups, arms of different groups whose values are set in the same way have one colour, marker and dash,
    and the filling of the marker says the group; otherwise each arm has a line of its own.
    """
    arms = arm_summaries(results)
    groups = list(dict.fromkeys(arm.group for arm in arms))
    alike = len(groups) <= MOST_PANELS and len({(arm.group, arm.short_label) for arm in arms}) == len(arms)
    labels = {arm.name: arm.short_label if alike else arm.label for arm in arms}
    order = list(dict.fromkeys(labels.values() if alike else labels))
    found = {}
    for arm in arms:
        face = _FACES[groups.index(arm.group)] if alike else _FACES[0]
        line = line_style(order.index(labels[arm.name] if alike else arm.name))
        line |= {**face, "gid": f"arm.{arm.name}"}
        found[arm.name] = Look(arm.name, arm.label, labels[arm.name], arm.group, face, line)
    return found


@once
def reference_looks(results: Results) -> dict[str, Look]:
    """Return the look of every reference: a thin grey line without markers, alike for those of one name."""
    found: dict[str, Look] = {}
    names = {one.label: one.label.partition(" (")[0] for one in results.references}
    long = {name for label, name in names.items() if len(label) - len(name) > _LONGEST}
    for one in results.references:
        label = name if (name := names[one.label]) in long else one.label
        place = list(dict.fromkeys([*(look.label for look in found.values()), label])).index(label)
        line = {"color": QUIET, "linewidth": 0.8, "linestyle": _REFERENCE_DASHES[place % len(_REFERENCE_DASHES)]}
        found[one.name] = Look(one.name, one.label, label, "", {}, line | {"gid": f"arm.{one.name}"})
    return found
