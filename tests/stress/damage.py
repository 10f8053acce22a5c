"""Damaged files: every file of a finished and of a killed study, and of its bank, in three ways each.

After each damage the same command runs again. It ends as a study that nobody has harmed, with the same records and the
same tables apart from times, and what was damaged still lies beside it; or, for a document that says what was decided,
it ends with an error that names the file, and nothing has changed.
"""

from __future__ import annotations

import csv
import io
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import fmim_reports.build
from fmim.declare import Arm
from fmim.declare.study import Surface
from fmim.plan import Plan
from fmim.printing import TextConsole
from fmim.runner.folder.locks import LOCK
from fmim.runner.folder.study_folder import WITHOUT
from fmim.terminal.plan import predict_here
from fmim_core.records import DONE, StudyFile, study_path
from fmim_reports.reading.results import read_results
from fmim_spaces.domain import Space, Uniform
from fmim_spaces.searchers import Random
from tests.stress.outcome import Outcome
from tests.support.documents import comparable_records
from tests.support.mini_study import MINI_STUDY, mini_plan, options_in, run_here
from tests.support.reports import tables_alone

TIMES = 1000  # at most, drawn from all; there are fewer files
WAYS = ("emptied", "zeros", "one bit flipped")
MADE_ANEW = {"code", "report", "samples", "surfaces.json", "checked.json"}
"""What each start makes anew from the rest, whatever there is: nothing in it can be lost. Nor can it in a lock."""
KILLED_AFTER = 5  # records
TIMED = re.compile("device|seconds|wall|_s$")  # columns

Cells = dict[tuple[str, int, str], str]
"""What is in each table of a report: (table, row, column) → value."""


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Damage after damage, each to a copy of its own."""
    whole, again, killed, resumed = (folder / name for name in ("whole", "again", "killed", "resumed"))
    kill(killed)
    shutil.copytree(killed, resumed)
    for root in (whole, again):
        predict_here(plan(), options_in(root), TextConsole(quiet=True))
    for root in (whole, again, resumed):
        assert run(root, figures=True)[0] == DONE
    unharmed = [set(cells(root).items()) for root in (whole, again, resumed)]
    expected, records = dict(set.intersection(*unharmed)), comparable_records(whole / "study")
    assert records == comparable_records(resumed / "study")
    rng = random.Random(seed)
    tries = [(root, files, way) for root in (whole, killed) for files in groups(root) for way in WAYS]
    for number, (root, files, way) in enumerate(rng.sample(tries, min(times, len(tries)))):
        copy = Path(shutil.copytree(root, folder / str(number)))  # MLflow remembers the databases that it has opened
        begun = time.perf_counter()
        problem = "; ".join(problems(copy, [copy / file for file in files], way, rng, records, expected))
        what = f"{root.name}: {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''} {way}"
        yield Outcome(what, problem, {"seconds": time.perf_counter() - begun})
        shutil.rmtree(copy)


def plan() -> Plan:
    """A study that writes every file there is: with a search that proposes, folds, replicates and references."""
    drawn = Arm(
        name="triplet_random",
        search="Random search",
        settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
        space=Space(ranges=(Uniform(path="margins.epsilon", low=0.1, high=0.9),)),
        searcher=Random(samples=2),
    )
    surface = Surface(label="Triplet", settings=(("loss.kind", "triplet"),), epsilon=0.25)
    study = MINI_STUDY.model_copy(update={"arms": (MINI_STUDY.arms[0], drawn), "surfaces": (surface,)})
    return replace(mini_plan(replicates=1, epochs=1), study=study)


def run(root: Path, figures: bool) -> tuple[int, str]:
    """The study in a folder, to its end; the exit code and what was said. A `ValueError` is the program's code 2.

    Drawing figures takes nine tenths of the time, and shows nothing here that the tables do not.
    """
    told, build = io.StringIO(), fmim_reports.build.build_report
    with patch("fmim_reports.build.build_report", build if figures else tables_alone):
        return run_here(plan(), options_in(root), TextConsole(file=told, width=10_000)), told.getvalue()


def kill(root: Path) -> None:
    """Leave a study in a folder as a SIGKILL does."""
    predict_here(plan(), options_in(root), TextConsole(quiet=True))
    code = f"from pathlib import Path; from tests.stress.damage import run; run(Path({str(root)!r}), False)"
    process = subprocess.Popen([sys.executable, "-c", code])
    while len(list(root.glob("study/records/*.json"))) < KILLED_AFTER:
        assert process.poll() is None, "the study ended before it was killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


def groups(root: Path) -> list[list[Path]]:
    """The files below a folder one by one, and those that are made anew together; MLflow's are not among them."""
    files = sorted(
        path.relative_to(root) for part in ("study", "banks") for path in (root / part).rglob("*") if path.is_file()
    )
    anew = [path for path in files if set(path.parts) & MADE_ANEW]
    return [*([path] for path in files if path not in anew), anew]


def problems(
    copy: Path, files: list[Path], way: str, rng: random.Random, records: dict[str, str], expected: Cells
) -> Iterator[str]:
    """Yield what did not hold after these files of a copy were damaged."""
    damaged = {}
    for path in files:
        damaged[path] = harmed(path.read_bytes(), way, rng)
        path.write_bytes(damaged[path])
    before = contents(copy / "study")
    try:
        read_results(copy / "study")
    except ValueError as error:
        if str(files[0].name) not in str(error):
            yield f"a report says {error}"
    try:
        code, told = run(copy, figures=bool(set(files[0].parts) & MADE_ANEW))
    except ValueError as error:
        if files[0].name not in (*WITHOUT, LOCK) or files[0].name not in str(error):
            yield f"refused: {error}"
        if contents(copy / "study") != before:
            yield "refused, but something was written"
        return
    lost = [path.name for path, content in damaged.items() if not kept(path, content)]
    if lost and not set(files[0].parts) & {*MADE_ANEW, LOCK}:
        yield f"{lost[0]} is gone"
    if code != DONE:
        yield f"exit code {code}: {told}"
    if comparable_records(copy / "study") != records:
        yield "other records"
    if differing := [key for key, value in cells(copy).items() if expected.get(key, value) != value]:
        yield f"{len(differing)} cells of tables differ, e.g. {differing[0]}"
    if expected.keys() - cells(copy).keys():
        yield "some cells of tables are missing"
    if StudyFile.read(study_path(copy / "study")).executions[-1].exit_code != DONE:
        yield "study.json does not say how it ended"


def harmed(content: bytes, way: str, rng: random.Random) -> bytes:
    """The content as that way of damage leaves it."""
    if way == "emptied" or not content:
        return b""
    if way == "zeros":
        return bytes(len(content))
    flipped = bytearray(content)
    flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def kept(path: Path, content: bytes) -> bool:
    """Say if a file's damaged content still lies in its place, or beside it under its name; or its whole bank does."""
    beside = [*path.parent.glob(f"{path.name}*"), *path.parent.parent.glob(f"{path.parent.name}.damaged-*/{path.name}")]
    return any(one.read_bytes() == content for one in beside)


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cells(root: Path) -> Cells:
    """Return the cells of a report's tables that do not depend on times, as its whole forecast does."""
    found: Cells = {}
    for path in sorted({*root.glob("study/report/tables/*.csv")} - {*root.glob("**/prediction.csv")}):
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file)):
                found |= {(path.stem, number, name): value for name, value in row.items() if not TIMED.search(name)}
    return found
