"""`fmim compare` on the terminal, in 80 columns if it can: what differs, the arms side by side, and the differences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fmim.printing import TextConsole, TextTable
from fmim_reports.across.differences import StudyDifference, not_compared
from fmim_reports.across.studies import ComparedStudy, arm_groups, differing
from fmim_reports.writing.formats import NOTHING, configuration_text, duration, mean_se_text, p_text, points

LONG = 40  # characters of a setting's value; of a longer one the beginning is shown
ARM_NUMBERS = ("N_s", "search", "validation", "test (n)")


def show_comparison(studies: Sequence[ComparedStudy], found: Sequence[StudyDifference], console: TextConsole) -> None:
    """Print the studies by letter, then what differs, their arms, and the differences."""
    shown = [(one.key, one.folder, one.results.study) for one in studies]
    rows = [(key, str(folder), study.study, study.preset, study.data.name) for key, folder, study in shown]
    console.show(TextTable(("", "folder", "study", "preset", "data"), rows), "")
    _show_settings(studies, console)
    _show_arms(studies, console)
    _show_differences(found, console)


def _show_settings(studies: Sequence[ComparedStudy], console: TextConsole) -> None:
    rows = []
    for one in differing(studies):
        texts = [one.text(study.key) or NOTHING for study in studies]
        short = [text if len(text) <= LONG else f"{text[: LONG - 1]}…" for text in texts]
        rows.append((f"{one.about}: {one.name}", *short))
    table = TextTable(("what differs", *(one.key for one in studies)), rows)
    console.show(table if rows else "No setting differs.", "")


def _show_arms(studies: Sequence[ComparedStudy], console: TextConsole) -> None:
    rows: list[tuple[str, ...]] = []
    for group in arm_groups(studies):
        rows.append((group.label, *[""] * len(ARM_NUMBERS)))
        for one in group.members:
            arm, cost = one.arm, one.arm.cost
            test = f"{mean_se_text(arm.test.stat)} ({arm.test.n_text})"
            numbers = (str(cost.n_s or NOTHING), duration(cost.device_seconds), mean_se_text(arm.validation.stat), test)
            rows.append((f"{one.study.key}  {configuration_text(arm.configuration)}", *numbers))
    console.show(TextTable(("arm, selected values", *ARM_NUMBERS), rows, frozenset(ARM_NUMBERS)))
    labels = " or ".join(dict.fromkeys(one.results.metric.label for one in studies))
    console.say(f"Validation and test: {labels} in %, mean ± SE; search: device time.", style="dim")
    console.say("")


def _show_differences(found: Sequence[StudyDifference], console: TextConsole) -> None:
    given = [one for one in found if one.value is not None]
    for (name, way, note), group in groupby(given, lambda one: (one.name, f"{one.way}, over {one.sample}", one.note)):
        console.say(f"{name}, {way}", style="bold")
        if note:
            console.say(note)
        alike = list(group)
        numbers = (f"{alike[0].metric.label}, points", "95 % CI", "p")
        rows = []
        for one in alike:
            low, high = one.uncertainty.low, one.uncertainty.high
            interval = NOTHING if low is None else f"{points(low)} to {points(high)}"
            p = p_text(one.p_holm).removeprefix("p ").removeprefix("= ")
            rows.append((one.later.arm.label, points(one.value), interval, p, one.answer))
        console.show(TextTable(("arm", *numbers, "result"), rows, frozenset(numbers)), "")
    for sentence in not_compared(found):
        console.say(sentence)
    if not found:
        console.say("No two arms of these studies are alike, so there is no difference to show.")
    if given:
        console.say(f"p is corrected by Holm over all {given[0].family} tested. --json has all numbers.")
