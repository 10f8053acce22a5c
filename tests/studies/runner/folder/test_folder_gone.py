"""A study's folder that is moved, deleted or replaced while it runs: nothing more is written, there or elsewhere."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fmim.printing import TextConsole
from fmim_core.records import DONE, SOME_FAILED, Place, read_records
from fmim_core.trial.trial import Trial
from tests.support.mini_study import mini_plan, options_in, run_here


def replaced(out: Path) -> None:
    shutil.move(out, out.with_name("elsewhere"))
    out.mkdir()


FATES: dict[str, Callable[[Path], Any]] = {
    "moved to {folder}/elsewhere": lambda out: shutil.move(out, out.with_name("elsewhere")),
    "deleted": shutil.rmtree,
    "replaced": replaced,
}


@pytest.mark.slow
@pytest.mark.parametrize("fate", FATES)
@pytest.mark.usefixtures("no_figures")
def test_a_run_ends_where_its_folder_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fate: str) -> None:
    out, steps, step = tmp_path / "study", list[str](), Trial.step

    def loses_it(trial: Trial) -> Any:
        steps.append(trial.spec.id)
        if len(steps) == 8:  # in the second trial
            FATES[fate](out)
        return step(trial)

    monkeypatch.setattr(Trial, "step", loses_it)
    told = io.StringIO()
    code = run_here(mini_plan(), options_in(tmp_path), TextConsole(file=told, width=1000))
    where = "moved to {folder}/elsewhere" if fate == "replaced" else fate
    assert code == SOME_FAILED
    assert f"{out} was {where.format(folder=tmp_path)} while the study ran" in told.getvalue()
    assert not out.exists() or list(out.iterdir()) == []  # nothing was written at its old place
    if (tmp_path / "elsewhere").exists():
        assert {record.status for record in read_records(tmp_path / "elsewhere")} == {"completed"}
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(tmp_path / "elsewhere", out)
        monkeypatch.undo()
        assert run_here(mini_plan(), options_in(tmp_path)) == DONE


def test_a_place_is_that_of_one_folder(tmp_path: Path) -> None:
    out = tmp_path / "x"
    out.mkdir()
    place = Place.of(out)
    place.check()
    out.rename(tmp_path / "y")
    with pytest.raises(FileNotFoundError, match=r"x was moved or deleted while"):
        place.check()
    replace(place, machine="another").check()  # whose folder may lie on a disk of its own
    (tmp_path / "y").rename(out)
    place.check()
