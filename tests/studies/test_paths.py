"""Relative paths count from where the program is started; nothing that a user needs is anywhere else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from mlflow import MlflowClient

from fmim.commands.options import Options
from fmim_core.data.bank.bank import Bank
from fmim_core.records import DONE, StudyFile, read_records
from fmim_reports.build import build_report
from tests.support.documents import comparable_records
from tests.support.manifests import folder_of
from tests.support.mini_study import mini_plan, run_here

HERE = Options(
    study="automargin_vs_grid",
    data="manifest.csv",
    data_root=Path("data"),
    out=Path("results/study"),
    backend="inline",
    gpus_per_trial=0.0,
    tracking_uri="sqlite:///results/tracked.db",
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]


ROWS = [f"{n}_{month}.png,s{n},{month},{'test' if n < 6 else 'train'}" for n in range(18) for month in (0, 12, 24)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders: one was stood in, with relative paths; the other was given whole, from a third one."""
    here, there, elsewhere, temporary = (tmp_path_factory.mktemp(name) for name in ("here", "there", "else", "temp"))
    absolute = HERE.but(
        data_root=there / "data",
        out=there / "results" / "study",
        tracking_uri=f"sqlite:///{there}/results/tracked.db",
    )
    before, default = Path.cwd(), tempfile.gettempdir()
    tempfile.tempdir = str(temporary)
    try:
        for folder, options, start in ((here, HERE, here), (there, absolute, elsewhere)):
            folder_of(folder / "data", ROWS, "image,subject,months,split")
            os.chdir(start)
            assert run_here(mini_plan(replicates=1), options.setup) == DONE
        assert list(elsewhere.iterdir()) == []
        assert [path for path in temporary.rglob("*") if path.is_file()] == []
    finally:
        os.chdir(before)
        tempfile.tempdir = default
    return here, there


def test_relative_and_absolute_paths_give_the_same_records_where_they_were_asked_for(both: tuple[Path, Path]) -> None:
    here, there = (comparable_records(folder / "results" / "study") for folder in both)
    assert len(here) == 11
    assert here == there
    for folder in both:
        results = folder / "results"
        assert {path.name for path in folder.iterdir()} == {"data", "results"}
        assert {"study", "tracked.db", "mlflow-artifacts"} <= {path.name for path in results.iterdir()}
        assert {record.status for record in read_records(results / "study")} == {"completed"}
        (bank,) = (results / "banks").glob("data-*")
        assert Bank.open(bank).count == 54


def test_the_tracker_has_the_artifacts_beside_its_database(both: tuple[Path, Path]) -> None:
    client = MlflowClient(f"sqlite:///{both[0]}/results/tracked.db")
    experiment = client.get_experiment_by_name("automargin_vs_grid")
    assert experiment.artifact_location.startswith((both[0] / "results" / "mlflow-artifacts").as_uri())
    uri = StudyFile.read(both[0] / "results" / "study" / "study.json").executions[0].tracking_uri
    assert uri == f"sqlite:///{both[0]}/results/tracked.db"


def test_no_path_of_this_machine_is_needed_later(both: tuple[Path, Path], tmp_path: Path) -> None:
    """The folder moves without its data set: the report is the same, and no record leads to the old place."""
    moved = (both[1] / "results").rename(tmp_path / "moved")
    page = (moved / "study" / "report" / "index.html").read_bytes()
    assert build_report(moved / "study").read_bytes() == page
    assert not [record for record in read_records(moved / "study") if str(both[1]) in str(record)]
