"""What `fmim compare` prints, in 80 columns if it can: what differs, the arms side by side, and the differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from fmim.printing.console import TextConsole
from fmim.printing.table import TextTable
from fmim_core.records import without_controls
from fmim_reports.across.differences import StudyDifference, not_compared
from fmim_reports.across.settings import differing
from fmim_reports.across.studies import ComparedStudy, arm_groups
from fmim_reports.writing.formats import NOTHING, configuration_text, duration, mean_se_text, p_text, points

LONG = 40  # characters of a setting's value; of a longer one the beginning is shown


def show_comparison(studies: Sequence[ComparedStudy], found: Sequence[StudyDifference], console: TextConsole) -> None:
    """The studies by letter, then what differs, their arms, and the differences."""
    for parts in (_studies(studies), _settings(studies), _arms(studies)):
        console.show(*parts, "")
    console.show(*_differences(found))


def _studies(studies: Sequence[ComparedStudy]) -> Iterator[RenderableType]:
    rows = [
        (one.key, str(one.folder), study.study, study.preset, study.data.name)
        for one in studies
        for study in [one.results.study]
    ]
    yield TextTable(("", "folder", "study", "preset", "data"), rows)


def _settings(studies: Sequence[ComparedStudy]) -> Iterator[RenderableType]:
    rows = [
        (f"{one.about}: {one.name}", *(_shortened(one.text(study.key)) or NOTHING for study in studies))
        for one in differing(studies)
    ]
    if rows:
        yield TextTable(("what differs", *(one.key for one in studies)), rows)
    else:
        yield "No setting differs."


def _shortened(text: str) -> str:
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def _arms(studies: Sequence[ComparedStudy]) -> Iterator[RenderableType]:
    labels = " or ".join(dict.fromkeys(one.results.metric.label for one in studies))
    yield Text(f"Arms: {labels} in %, mean ± SE; search: device time")
    numbers = ("N_s", "search", "validation", "test (n)")
    for group in arm_groups(studies):
        rows = [
            (
                one.study.key,
                configuration_text(arm.configuration),
                str(arm.cost.n_s),
                duration(arm.cost.device_seconds),
                mean_se_text(arm.validation.stat),
                f"{mean_se_text(arm.test.stat)} ({arm.test.n_text})",
            )
            for one in group.members
            for arm in [one.arm]
        ]
        yield _heading(group.label)
        yield TextTable(("", "configuration", *numbers), rows, frozenset(numbers))


def _differences(found: Sequence[StudyDifference]) -> Iterator[RenderableType]:
    given = [one for one in found if one.value is not None]
    for (name, way, note), group in groupby(given, lambda one: (one.name, f"{one.way}, over {one.sample}", one.note)):
        yield _heading(f"{name}, {way}")
        if note:
            yield Text(without_controls(note))
        yield _like_differences(list(group))
        yield ""
    yield from map(Text, map(without_controls, not_compared(found)))
    if not found:
        yield "No two arms of these studies are alike, so there is no difference to show."
    if given:
        yield Text(f"p is corrected by Holm over all {given[0].family} tested. --json has all numbers.")


def _like_differences(group: Sequence[StudyDifference]) -> TextTable:
    numbers = (f"{group[0].metric.label}, points", "95 % CI", "p")
    rows = [(one.later.arm.label, points(one.value), _interval(one), _p(one), one.answer) for one in group]
    return TextTable(("arm", *numbers, "result"), rows, frozenset(numbers))


def _interval(one: StudyDifference) -> str:
    low, high = one.uncertainty.low, one.uncertainty.high
    return NOTHING if low is None else f"{points(low)} to {points(high)}"


def _p(one: StudyDifference) -> str:
    return p_text(one.p_holm).removeprefix("p ").removeprefix("= ")


def _heading(text: str) -> Text:
    return Text(without_controls(text), style="bold")
