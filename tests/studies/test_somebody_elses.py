"""A folder of somebody else's: its code runs only where this user says so, and nothing is sent where it points to."""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

import fmim
from fmim.runner.folder.trust import is_known, remember
from fmim.runner.tracking.client import prepare
from fmim_core.records import BAD_INPUT, DONE, Code, CodeFile, StudyFile, study_path
from fmim_reports.build import build_report
from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.mini_study import tracked_in
from tests.support.program import Program

ARM = "triplet_grid"


@pytest.fixture(autouse=True)
def nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This user has run and named nothing so far."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("FMIM_TRACKING_URI", raising=False)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a study whose code, in study.json and beside it, leaves a file `ran` where it is run."""
    out = make_out(tmp_path / "runs" / "theirs", arms=(ARM,), folds=2, replicates=2)
    text = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    code = Code(files=(CodeFile.of("their_study.py", text),))
    for name in ("their_study.py", "numpy.py", "sitecustomize.py"):
        (out / "code").mkdir(exist_ok=True)
        (out / "code" / name).write_text(text)
    edit(out / "study.json", code=code.model_dump(mode="json"), environment={"host": "elsewhere"})
    return out


def test_code_of_somebody_else_runs_only_where_the_user_says_so(out: Path, tmp_path: Path, own_code: None) -> None:
    with pytest.raises(
        ValueError, match=r"their_study\.py of the study .*, from elsewhere.* --trust-code.*trust_code=True"
    ):
        fmim.load_model(out, ARM)
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ValueError, match=r"the weights of .* are missing"):  # the code has run before
        fmim.load_model(out, ARM, trust_code=True)
    assert (tmp_path / "ran").exists()


def test_code_that_this_user_has_run_runs_again_and_nothing_beside_it(
    out: Path, tmp_path: Path, own_code: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import colorsys\nassert colorsys.hls_to_rgb\n"  # not the one beside it
    mine = Code(files=(CodeFile.of("my_study.py", text),))
    (out / "code" / "colorsys.py").write_text("raise SystemExit('ran')")
    edit(out / "study.json", code=mine.model_dump(mode="json"))
    with pytest.raises(ValueError, match="--trust-code"):
        fmim.load_model(out, ARM)
    remember(mine.sha256)
    for place in (out, out.relative_to(tmp_path), out / ".." / out.name):
        monkeypatch.delitem(sys.modules, "colorsys", raising=False)
        with pytest.raises(ValueError, match="weights"):
            fmim.load_model(place, ARM)
    edited = CodeFile.of("my_study.py", text + "# edited\n")
    edit(out / "study.json", code=Code(files=(edited,)).model_dump(mode="json"))
    with pytest.raises(ValueError, match="--trust-code"):
        fmim.load_model(out, ARM)


def test_no_folder_has_marks_of_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there is no home, and `~/.local` would lie in the folder where the program is called."""
    remember("code")
    assert is_known("code")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert not is_known("code")


@pytest.mark.parametrize("command", ["embed", "match"])
def test_commands_that_load_a_model_refuse_before_anything_is_read(
    out: Path, tmp_path: Path, fmim_here: Program, command: str
) -> None:
    more = ["--to", "e.csv"] if command == "embed" else ["--gallery", "nowhere"]
    done = fmim_here(command, out, "nothing.png", "--arm", ARM, *more, cwd=tmp_path)
    assert (done.returncode, "--trust-code" in done.stderr) == (BAD_INPUT, True)
    done = fmim_here(command, out, "nothing.png", "--arm", ARM, *more, "--trust-code", cwd=tmp_path)
    assert (done.returncode, "--trust-code" in done.stderr) == (BAD_INPUT, False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["report"], ["status"], ["status", "--json"], ["compare", "{copy}"], ["mirror"], ["overview"]]
)
def test_no_other_command_runs_the_code(
    out: Path, tmp_path: Path, fmim_here: Program, arguments: list[str], no_figures: None
) -> None:
    tracked_in(out.parent)
    edit(out / "study.json", executions=[_execution(out) | {"tracking_uri": f"sqlite:///{out.parent}/mlflow.db"}])
    shutil.copytree(out, tmp_path / "copy")
    command, *more = (one.format(copy=tmp_path / "copy") for one in arguments)
    done = fmim_here(command, out.parent if command == "overview" else out, *more, cwd=tmp_path)
    assert done.returncode == DONE
    assert not (tmp_path / "ran").exists()


def test_loading_results_runs_no_code(out: Path, tmp_path: Path, no_figures: None) -> None:
    assert len(fmim.load(out).trials) > 0
    build_report(out)
    assert not (tmp_path / "ran").exists()


def _execution(out: Path) -> dict[str, object]:
    return StudyFile.read(study_path(out)).executions[-1].model_dump()


@pytest.mark.parametrize("uri", ["http://evil.example:5000", "postgresql://evil.example/db", "sqlite:///{tmp}/x.db"])
@pytest.mark.parametrize("command", ["ui", "mirror"])
def test_an_address_that_only_a_folder_names_is_not_used(
    out: Path, tmp_path: Path, fmim_here: Program, monkeypatch: pytest.MonkeyPatch, command: str, uri: str
) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("connected"))
    (tmp_path / "x.db").touch()
    uri = uri.format(tmp=tmp_path)
    edit(out / "study.json", executions=[_execution(out) | {"tracking_uri": uri}])
    done = fmim_here(command, out, cwd=tmp_path)
    assert done.returncode == BAD_INPUT
    assert re.search(rf"mirrored to {uri}, which you have not used here.* --tracking-uri {uri}", done.stderr)
    assert (tmp_path / "x.db").read_bytes() == b""


def test_a_database_that_came_with_a_folder_sends_files_nowhere(tmp_path: Path) -> None:
    tracked_in(tmp_path)
    path = tmp_path / "mlflow.db"
    prepare(path, True, pytest.fail)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE experiments SET artifact_location = 'http://evil.example/files'")
    with pytest.raises(ValueError, match=r"keeps files at http://evil\.example/files: if you trust it, give --track"):
        prepare(path, True, pytest.fail)
    prepare(path, False, pytest.fail)  # this user named it
