"""What stands in the place of a study's files and is none: a pipe, a folder, a link to nothing or to itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fmim.runner.folder.study_folder import find_replicate
from fmim.terminal.status import StudyStatus
from fmim_core.data.bank.bank import Bank
from fmim_core.records import (
    Damaged,
    StudyFile,
    read_queries,
    record_path,
    remove_parts,
    study_path,
    trials_with_result,
)
from fmim_core.trial.checkpoint import read_checkpoint
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out
from tests.support.file_contents import edit

NO_FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "leads nowhere": lambda path: path.symlink_to(path.with_name("nothing")),
    "a link that leads nowhere": lambda path: path.symlink_to(path.name),
}


@pytest.fixture(params=NO_FILES)
def put(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    """Put something into the place of a file; return what it is called."""

    def put(path: Path) -> str:
        path.unlink(missing_ok=True)
        NO_FILES[request.param](path)
        return str(request.param)

    return put


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return make_out(tmp_path / "study", arms=("triplet_grid", "triplet_automargin"), folds=2, replicates=2)


def test_a_record_that_is_no_file_is_named_and_hides_no_other(out: Path, put: Callable[[Path], str]) -> None:
    whole = StudyStatus(out).progress.done
    called = put(record_path(out, "triplet_grid.c00.fold0"))
    status = StudyStatus(out)
    assert status.progress.done == whole - 1
    assert [called in why and "triplet_grid.c00.fold0" in why for why in status.damaged] == [True]
    (problem,) = [one for one in read_results(out).problems if one.where == "records/triplet_grid.c00.fold0.json"]
    assert called in problem.why
    assert len(list(trials_with_result(out))) == whole - 1


def test_a_document_that_is_no_file_is_named(out: Path, put: Callable[[Path], str]) -> None:
    called = put(out / "selection.json")
    assert [called in why for why in StudyStatus(out).damaged] == [True]
    assert any(one.where == "selection.json" and called in one.why for one in read_results(out).problems)
    with pytest.raises(Damaged, match=called):
        find_replicate(out, "triplet_grid", 0)
    put(study_path(out))
    for read in (StudyStatus, read_results):
        with pytest.raises(Damaged, match=rf"study\.json is .*{called}"):
            read(out)


def test_other_files_that_are_none_are_damaged(tmp_path: Path, put: Callable[[Path], str]) -> None:
    called = put(tmp_path / "x")
    with pytest.raises(Damaged, match=called):
        read_checkpoint(tmp_path / "x", torch.device("cpu"))
    with pytest.raises(Damaged, match=called):
        read_queries(tmp_path / "x", "0" * 64)


def test_a_study_file_of_another_version_is_no_damage(out: Path) -> None:
    edit(record_path(out, "triplet_grid.c00.fold0"), schema=1)
    assert [" has schema 1" in why for why in StudyStatus(out).damaged] == [True]
    assert StudyFile.find(out / "nothing.json") is None


@pytest.mark.parametrize("name", ["bank.json", "images.u8", "development.csv"])
def test_a_bank_of_other_things_is_damaged(
    tiny_bank: Bank, tmp_path: Path, put: Callable[[Path], str], name: str
) -> None:
    for path in tiny_bank.path.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    put(tmp_path / name)
    with pytest.raises(Damaged, match=name):
        Bank.open(tmp_path).check()


def test_half_written_files_of_processes_that_have_ended_are_removed(out: Path) -> None:
    gone, runs = out / "records" / ".x.json.999999999.part", out / f".study.json.{os.getpid()}.part"
    others = (runs, out / ".notes.part", out / "study.json")
    for path in (gone, *others[:2]):
        path.write_text("half")
    remove_parts(out)
    assert not gone.exists()
    assert all(path.exists() for path in others)
