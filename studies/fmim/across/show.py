"""What `fmim compare` prints, in 80 columns: what differs, the arms side by side, and the differences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from fmim_core.records import in_terminal
from fmim_reports.across.differences import Difference, Differences
from fmim_reports.across.settings import differing
from fmim_reports.across.studies import ComparedStudy, arm_groups
from fmim_reports.writing.formats import NOTHING, configuration_text, duration, mean_se_text, p_text, points

LONG = 40  # letters of a setting's value; of a longer one the beginning is shown


def show_comparison(studies: Sequence[ComparedStudy], found: Differences, console: Console) -> None:
    """The studies by letter, then what differs, their arms, and the differences."""
    for show in (_show_studies, _show_settings, _show_arms):
        show(studies, console)
        console.print()
    _show_differences(found, console)


def _show_studies(studies: Sequence[ComparedStudy], console: Console) -> None:
    table = _table("", Column("folder", overflow="fold"), "study", "preset", "data")
    for one in studies:
        study = one.results.study
        table.add_row(*map(in_terminal, (one.key, one.folder, study.study, study.preset, study.data.name)))
    console.print(table)


def _show_settings(studies: Sequence[ComparedStudy], console: Console) -> None:
    settings = differing(studies)
    if not settings:
        console.print("No setting differs.", highlight=False)
        return
    table = _table("what differs", *(Column(one.key, overflow="fold") for one in studies))
    for about, group in groupby(settings, lambda setting: setting.about):
        table.add_row(f"[bold]{in_terminal(about)}[/]")
        for setting in group:
            texts = (_shortened(setting.text(one.key)) or NOTHING for one in studies)
            table.add_row(*map(in_terminal, (f" {setting.name}", *texts)))
    console.print(table)


def _table(*columns: str | Column, **others: Any) -> Table:
    return Table(*columns, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, **others)


def _shortened(text: str) -> str:
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def _show_arms(studies: Sequence[ComparedStudy], console: Console) -> None:
    labels = " or ".join(dict.fromkeys(one.results.metric.label for one in studies))
    numbers = (Column(name, justify="right") for name in ("N_s", "search", "validation", "test (n)"))
    about = f"{labels} in %, mean ± SE; search: device time"
    table = _table("", "configuration", *numbers, caption=about, caption_justify="left")
    for group in arm_groups(studies):
        table.add_row("", f"[bold]{in_terminal(group.label)}[/]")
        for one in group.members:
            arm = one.arm
            cells = (configuration_text(arm.configuration), str(arm.cost.n_s), duration(arm.cost.device_seconds))
            scores = (mean_se_text(arm.validation.stat), f"{mean_se_text(arm.test.stat)} ({arm.test.n_text})")
            last = one is group.members[-1]
            table.add_row(one.study.key, *map(in_terminal, (*cells, *scores)), end_section=last)
    console.print(table)


def _show_differences(found: Differences, console: Console) -> None:
    for (name, way, note), group in groupby(found.numbered, lambda pair: _way(pair[1])):
        console.print(f"[bold]{name}[/]: {in_terminal(way)}", highlight=False)
        if note:
            console.print(in_terminal(note), highlight=False)
        _show_like_differences(found, list(group), console)
        console.print()
    for line in found.not_compared:
        console.print(in_terminal(line), highlight=False)
    if found.numbered:
        tested = f"p is corrected by Holm over all {found.by_holm.family} tested. --json has all numbers."
        console.print(tested, highlight=False)


def _way(one: Difference) -> tuple[str, str, str]:
    """What neighbours share: of which studies they are, how they are paired over how many, and what to know of it."""
    way = f"paired by {one.pairing}" if one.pairing else "not paired, since seeds differ"
    return one.name, f"{way}; over {one.sample}", one.note


def _show_like_differences(found: Differences, group: Sequence[tuple[int, Difference]], console: Console) -> None:
    metric = group[0][1].metric.label
    numbers = (Column(name, justify="right") for name in (f"{metric}, points", "95 % CI", "p"))
    table = _table("arm", *numbers, "result")
    for number, one in group:
        low, high = one.uncertainty.low, one.uncertainty.high
        interval = NOTHING if low is None else f"{points(low)} to {points(high)}"
        p = p_text(found.by_holm.adjusted[number]).removeprefix("p ").removeprefix("= ")
        table.add_row(*map(in_terminal, (one.later.arm.label, points(one.value), interval, p, found.answer(number))))
    console.print(table)
