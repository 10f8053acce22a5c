"""A program that is asked to end does so in order: report, tracker and exit code say so; and users without a home."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
import typer
from mlflow import MlflowClient
from typer.testing import CliRunner

from fmim.cli import Program
from fmim.process import ends_as_by_ctrl_c, usable_home
from fmim_core.records import INTERRUPTED, StudyFile
from tests.stress import processes
from tests.support.own_files import ONE_ARM, write_files
from tests.support.paths import ROOT
from tests.support.program import wait_for

STREAMS = ("stdin", "stdout", "stderr")
COMMAND = (
    *("one_arm.py", "--preset", "smoke", "--backend", "inline", "--gpus-per-trial", "0", "--out", "study"),
    *("--set", "epochs=10"),
)


@pytest.mark.slow
def test_it_ends_in_order_when_its_terminal_closes(tmp_path: Path) -> None:
    out, log = tmp_path / "study", tmp_path / "log"
    log.touch()
    write_files(tmp_path, {"one_arm.py": ONE_ARM})
    terminal, its_end = os.openpty()
    command, streams = [sys.executable, str(ROOT / "studies" / "run.py"), *COMMAND], dict.fromkeys(STREAMS, its_end)
    hears = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, preexec_fn=hears, **streams)
    os.close(its_end)
    os.set_blocking(terminal, False)

    def has_a_record() -> bool:
        with contextlib.suppress(BlockingIOError):  # there is nothing new; unread, it would stop the program
            os.read(terminal, 1 << 16)
        return any((out / "records").glob("*.json"))

    wait_for(has_a_record, process, log, seconds=120)
    os.close(terminal)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=180) == INTERRUPTED
    assert StudyFile.read(out / "study.json").executions[-1].exit_code == INTERRUPTED
    assert (out / "report" / "index.html").is_file()
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    (experiment,) = [one for one in client.search_experiments() if one.name == "one_arm"]
    assert "RUNNING" not in {run.info.status for run in client.search_runs([experiment.experiment_id])}


@pytest.mark.slow
def test_it_ends_with_a_word_when_ctrl_c_comes_before_it_has_begun(tmp_path: Path) -> None:
    write_files(tmp_path, {"one_arm.py": ONE_ARM})
    process, log = processes.start(COMMAND, tmp_path, str(tmp_path)), tmp_path / "screen.txt"
    wait_for((tmp_path / "banks").exists, process, log, seconds=120)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == INTERRUPTED
    assert "interrupted: the same command resumes" in log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_program_under_nohup_does_not_end_with_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ends_as_by_ctrl_c():
            signal.raise_signal(signal.SIGHUP)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_import_that_is_under_way_ends_before_the_program_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_files(tmp_path, {"interrupted_one.py": "import signal\nsignal.raise_signal(signal.SIGTERM)\nWHOLE = True\n"})
    monkeypatch.syspath_prepend(tmp_path)

    def wait() -> None:
        importlib.import_module("interrupted_one")
        threading.Event().wait(60)

    with ends_as_by_ctrl_c(), pytest.raises(KeyboardInterrupt):
        wait()
    assert sys.modules.pop("interrupted_one").WHOLE


@pytest.mark.parametrize(("context", "code"), [(KeyboardInterrupt(), INTERRUPTED), (KeyError(), None)])
def test_what_follows_from_an_interruption_is_one(context: BaseException, code: int | None) -> None:
    """As where a signal comes within a lock of Python's own."""
    program = typer.Typer(cls=Program)

    @program.command()
    def one() -> None:
        try:
            raise context
        except BaseException:
            raise RuntimeError("release unlocked lock")  # noqa: B904

    program.command("two")(lambda: None)
    result = CliRunner().invoke(program, ["one"])
    assert isinstance(result.exception, SystemExit if code else RuntimeError)
    assert result.exit_code == (code or 1)


@pytest.mark.parametrize("home", ["/dev/null/x", "/no/such/folder"])
def test_where_there_is_no_home_there_is_one_for_a_while(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    said: list[str] = []
    with usable_home(said.append):
        folder = Path.home()
        (folder / "file").write_text("")
    assert os.environ["HOME"] == home
    assert not folder.exists()
    (warning,) = said
    assert f"HOME ({home}) cannot be written to" in warning


def test_a_home_that_can_be_read_alone_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/self")  # not even root can write there
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    with usable_home(lambda text: None):
        assert os.environ["HOME"] == "/proc/self"
        assert Path(os.environ["MPLCONFIGDIR"]).is_dir()
    assert "MPLCONFIGDIR" not in os.environ


def test_a_home_of_ones_own_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said: list[str] = []
    with usable_home(said.append):
        assert Path.home() == tmp_path
    assert (said, list(tmp_path.iterdir())) == ([], [])
