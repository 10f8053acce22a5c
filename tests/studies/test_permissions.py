"""Files and folders whose permissions are closed to this user: named, with what to do, and nothing is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fmim_core.records import BAD_INPUT, DONE
from tests.support.factories import make_out
from tests.support.paths import ROOT

STUDY, RECORD = "automargin_vs_grid", "records/triplet_grid.c00.fold0.json"
CLOSED = {  # what `status` and `run` end with, and the results that can be loaded; None: not tried
    RECORD: (DONE, None, "missing"),
    "records": (DONE, BAD_INPUT, "error"),
    "study.json": (BAD_INPUT, BAD_INPUT, "error"),
    "selection.json": (DONE, BAD_INPUT, "completed"),
    "progress.json": (DONE, None, "completed"),
    "checkpoints": (DONE, BAD_INPUT, "completed"),
    "report": (DONE, BAD_INPUT, "completed"),
    ".lock": (DONE, BAD_INPUT, "completed"),
}
UNNAMED = ("progress.json", "checkpoints", "report", ".lock")
"""Those of which `status` needs nothing."""
SCRIPT = """
import contextlib, io, json, os, sys
import fmim
from fmim.cli import main
said, out, closed = {}, sys.argv[1], sys.argv[2:]
def ends(*arguments):
    sys.argv, text = ["fmim", *arguments], io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), text.getvalue()
for name in closed:
    path = os.path.join(out, name)
    before = os.stat(path).st_mode
    os.chmod(path, 0)
    commands = [ends("status", out)]
    if name not in ("records/triplet_grid.c00.fold0.json", "progress.json"):  # they stop none at once
        commands.append(ends("run", "STUDY", "--backend", "inline", "--preset", "quick", "--out", out))
    try:
        found = fmim.load(out)
        loaded = str(found.trials.set_index("trial").status.get("triplet_grid.c00.fold0", "missing"))
    except ValueError as error:
        loaded = "error"
    os.chmod(path, before)
    said[name] = [commands, loaded]
print(json.dumps(said))
""".replace("STUDY", STUDY)
AS_ANY_USER = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
def test_what_this_user_may_not_read_or_write_is_named(tmp_path: Path) -> None:
    out = make_out(tmp_path / "runs" / STUDY, arms=("triplet_grid",), folds=2, replicates=2)
    for name in ("checkpoints", "report"):
        (out / name).mkdir(exist_ok=True)
    for name in (".lock", "progress.json"):
        (out / name).touch()
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    command = [sys.executable, "-c", SCRIPT, str(out), *CLOSED]
    environment = {**os.environ, "COLUMNS": "250", "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "studies")))}
    limited = AS_ANY_USER if os.geteuid() == 0 else []
    done = subprocess.run([*limited, *command], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == DONE, done.stderr
    for name, ((status, *runs), loaded) in json.loads(done.stdout).items():
        asked_status, asked_run, asked_loaded = CLOSED[name]
        assert (name, status[0], loaded) == (name, asked_status, asked_loaded)
        assert f"{out / name} cannot be read" in status[1] or name in UNNAMED
        for code, said in runs:
            assert (name, code, f"{out / name} cannot be" in said) == (name, asked_run, True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == files
