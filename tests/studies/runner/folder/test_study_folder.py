"""A folder belongs to one study, and to one process at a time: else it is refused before a byte is written."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import re
from pathlib import Path

import pytest

from fmim.commands.options import Options
from fmim.printing import TextConsole
from fmim.runner.folder.locks import locked
from fmim.terminal.plan import predict_here
from fmim_core.records import SCHEMA, read_json
from tests.support.factories import CALIBRATION, make_out
from tests.support.file_contents import edit, write
from tests.support.mini_study import NO_TRACKER, run_here


def test_who_holds_the_lock_is_told(tmp_path: Path) -> None:
    holder = rf"^process {os.getpid()} on {re.escape(platform.node())}, since 20.*Z, is running in .*: wait for it"
    with locked(tmp_path) as warning, pytest.raises(ValueError, match=holder), locked(tmp_path):
        pass
    assert warning == ""
    with locked(tmp_path):  # the next one may be shorter than this one, and leaves nothing of it
        assert (tmp_path / ".lock").read_text().count("\n") == 1


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    (tmp_path / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"\.lock"), locked(tmp_path):
        pass
    assert (tmp_path / "mine").read_text() == ""


def test_a_file_system_without_locks_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a network drive answers; none can be mounted here."""

    def refuse(*given: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path) as warning:
        assert warning.startswith(f"{tmp_path} cannot be locked (No locks available): make sure that nobody else")


FOREIGN = {
    **dict.fromkeys(("notes.txt", "photos/1.png", ".git/config", "records.zip", "records.old/x"), "mine"),
    ".lock": "of another program",
    "report/index.html": "names of ours, in a folder without a study",
    **dict.fromkeys(("samples/1.png", "records/notes.json", "surfaces.json", "calibration.json"), '{"temperature": 3}'),
}


def content(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder with what is in it."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def options(root: Path, out: Path, **more: object) -> Options:
    parts = {"preset": "smoke", "backend": "inline", "gpus_per_trial": 0.0, "banks": root / "banks"}
    return Options(**{"study": "lambda_sweep", "out": out, "tracking_uri": NO_TRACKER, **parts, **more})  # type: ignore[arg-type]


def refused(root: Path, out: Path, message: str, **more: object) -> None:
    """Running, planning and calibrating are refused, and nothing is written anywhere."""
    before, given = content(root), options(root, out, **more)
    for how in (run_here, predict_here):
        with pytest.raises(ValueError, match=message):
            how(given.plan(), given.setup, TextConsole(quiet=True))
    with pytest.raises(ValueError, match=message):
        given.check()
    assert content(root) == before


def ours(out: Path) -> Path:
    """A finished folder of the study that is asked for."""
    make_out(out, arms=("triplet_q1",))
    edit(out / "study.json", study="lambda_sweep")
    return out


@pytest.mark.parametrize("forecast_alone", [False, True])
def test_another_studys_folder_is_refused_with_both_names(tmp_path: Path, forecast_alone: bool) -> None:
    if forecast_alone:
        (tmp_path / "x").mkdir()
        write(tmp_path / "x" / "calibration.json", CALIBRATION)
    else:
        make_out(tmp_path / "x", arms=("triplet_q1",))
    refused(tmp_path, tmp_path / "x", "belongs to the study 'automargin_vs_grid', not to 'lambda_sweep': .* or --fresh")


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("fresh", [False, True])
def test_what_no_study_writes_is_refused_by_name(tmp_path: Path, name: str, fresh: bool) -> None:
    path = tmp_path / "x" / name
    path.parent.mkdir(parents=True)
    path.write_text(FOREIGN[name])
    refused(tmp_path, tmp_path / "x", f"it has other files, {name.partition('/')[0]}$", fresh=fresh)


def test_a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_refused(tmp_path: Path) -> None:
    out = ours(tmp_path / "x")
    (out / "selection.json").unlink()
    for name in ("selection.json", ".lock", "calibration.json"):
        (out / name).mkdir()
    os.mkfifo(out / "surfaces.json")
    (out / "checkpoints").write_text("mine")
    with pytest.raises(ValueError, match=r"selection\.json is a folder, .* move it out of the folder"):
        options(tmp_path, out).check()
    (out / "selection.json").rmdir()
    names = r"it has other files, \.lock, calibration\.json, checkpoints and 1 more$"
    with pytest.raises(ValueError, match=names):
        options(tmp_path, out).check()


@pytest.mark.parametrize(
    ("name", "without"), [("study.json", "resumes from its"), ("selection.json", "selected again")]
)
def test_a_damaged_decision_is_named_with_what_to_do_before_anything_is_written(
    tmp_path: Path, name: str, without: str
) -> None:
    out = ours(tmp_path / "x")
    whole = (out / name).read_bytes()
    for damaged in (b"", bytes(len(whole)), b"{}", b"null", b"[]", whole.replace(b"triplet_q1", b"triplet_q0")):
        (out / name).write_bytes(damaged)
        before = content(tmp_path)
        with pytest.raises(ValueError, match=rf"^{out / name}.* To resume, put a copy .* or move it out .*{without}"):
            options(tmp_path, out).check()
        assert content(tmp_path) == before
    (out / name).unlink()
    options(tmp_path, out).check()


@pytest.mark.parametrize("damaged", [b"", b"\0\0", b"null", b'{"schema": %d}' % SCHEMA])
def test_a_damaged_forecast_stops_nothing(tmp_path: Path, damaged: bytes) -> None:
    out = ours(tmp_path / "x")
    (out / "calibration.json").write_bytes(damaged)
    options(tmp_path, out).check()


def test_a_file_is_no_folder_for_a_study_or_for_banks(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a file")
    (tmp_path / "c").symlink_to(tmp_path / "nowhere")
    for fresh in (False, True):
        refused(tmp_path, tmp_path / "x", f"{tmp_path}/x is a file; give another", fresh=fresh)
    for place in (tmp_path / "x", tmp_path / "c"):
        refused(tmp_path, tmp_path / "y", f"{place}/d cannot be a folder: {place} is a file", banks=place / "d")


def test_a_folder_of_another_version_is_refused_by_it_and_may_be_moved_aside(tmp_path: Path) -> None:
    out = make_out(tmp_path / "x", arms=("triplet_q1",))
    for path in (out / "study.json", out / "selection.json", *out.glob("records/*.json")):
        fields = read_json(path) | {"schema": 4}
        path.write_text(json.dumps({name: value for name, value in fields.items() if name != "sha256"}))
    refused(
        tmp_path,
        out,
        rf"^{out}/study\.json has schema 4, but this version reads {SCHEMA}: .* or start over with --fresh",
    )
    options(tmp_path, out, fresh=True).check()


def test_ones_own_folder_is_accepted_with_all_that_a_study_writes(tmp_path: Path) -> None:
    out = ours(tmp_path / "x")
    for name in ("proposals.json", "surfaces.json", ".study.json.4711.part"):
        (out / name).write_text("{}")
    with locked(out):
        pass
    write(out / "calibration.json", CALIBRATION | {"study": "lambda_sweep"})
    for name in ("checkpoints", "report"):
        (out / name).mkdir()
    options(tmp_path, out).check()
    (tmp_path / "empty").mkdir()
    options(tmp_path, tmp_path / "empty").check()


def test_the_mirrors_database_may_lie_in_the_folder_if_it_is_this_one(tmp_path: Path) -> None:
    out = tmp_path / "x"
    (out / "mlflow-artifacts").mkdir(parents=True)
    for name in ("my.db", "my.db.lock", "my.db-wal"):
        (out / name).write_text("")
    options(tmp_path, out, tracking_uri=f"sqlite:///{out}/my.db").check()
    refused(tmp_path, out, "it has other files, mlflow-artifacts, my.db, my.db-wal and 1 more$")


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_fresh_moves_any_studys_folder_aside(tmp_path: Path) -> None:
    out = make_out(tmp_path / "x", arms=("triplet_q1",))
    before, given = content(out), options(tmp_path, out, fresh=True, replicates=1)
    assert run_here(given.plan(), given.setup) == 0
    (aside,) = tmp_path.glob("x.until-*")
    assert {name: value for name, value in content(aside).items() if name != ".lock"} == before
