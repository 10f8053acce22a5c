"""A plan that does not fit a study's folder is refused, and every difference that decides a result is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fmim.runner.folder.outcomes import outcomes_of_plan
from fmim.runner.folder.study_file import write_study
from fmim_core.data.bank.bank import Bank
from fmim_core.records import read_json, write_json
from fmim_core.trial.spec import RESULTS_VERSION
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searchers import Grid
from tests.support.documents import execution, fold_entry
from tests.support.simulation import Simulation, arm, plan_of

MARGINS = {"epsilon": 0.1, "beta": 0.5}
CHOICES = tuple(Choice(path=f"margins.{name}", values=(value,)) for name, value in MARGINS.items())
ARM = arm("grid", Grid(), Space(choices=CHOICES))


@pytest.fixture
def out(tiny_bank: Bank, tmp_path: Path) -> Path:
    """The folder of a study that has run to its end."""
    plan = plan_of(ARM)
    write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    Simulation(plan, tiny_bank, tmp_path).run()
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"seed": 1}, "seed was 0, is 1"),
        ({"epochs": 4}, r"--set was {'epochs': 9}, is {'epochs': 4}, epochs was 9, is 4"),
        ({"seed": 2, "epochs": 4}, r"--set was .*, seed was 0, is 2, epochs was 9, is 4"),
    ],
)
def test_another_plan_is_refused_with_every_difference(
    out: Path, tiny_bank: Bank, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=rf"records of another plan \(e\.g\. grid\.c00\.fold0; {told}\): give another"):
        outcomes_of_plan(out, plan_of(ARM, **changes), tiny_bank)


def test_records_of_other_data_and_of_another_version_of_the_program_are_refused_by_what_differs(
    out: Path, tiny_bank: Bank
) -> None:
    study = read_json(out / "study.json")
    write_json(out / "study.json", study | {"results_version": 3, "data": study["data"] | {"fingerprint": "d" * 64}})
    record = out / "records" / "grid.c00.fold0.json"
    write_json(record, read_json(record) | {"fingerprint": "f" * 64})
    versions = f"version of results was 3, is {RESULTS_VERSION}"
    told = rf"data fingerprint was dddddddddddd, is {tiny_bank.fingerprint[:12]}, {versions}"
    with pytest.raises(ValueError, match=rf"1 records of another plan \(e\.g\. grid\.c00\.fold0; {told}\)"):
        outcomes_of_plan(out, plan_of(ARM), tiny_bank)
