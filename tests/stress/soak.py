"""Many short trials on Ray with a worker killed every 20 s: the study ends, and the driver does not grow.

Where others use the cores, too, workers take longer to start, and are killed less often in proportion.

The driver's memory and open files are looked at every second; their slopes, over the trials after the first fifth, are
reported for each 1,000 trials. --times says how many trials.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fmim_core.records import DONE, read_records
from tests.stress.outcome import Outcome
from tests.stress.processes import kill, marked, start

TIMES = 2000
EVERY_S = 20.0
ACTOR = "Trainable"  # in what Ray calls a worker, in the middle of a trial or between two
FOLDS = 5
GROWTH = {"MiB": (20.0, 100.0), "open files": (3.0, 2.0)}
"""What the driver may grow by at all, and for each 1,000 trials: Tune keeps small objects of each, and no file."""

STUDY = '''"""As many short trials as one likes."""

from fmim import SMOKE, Arm, Choice, Space, Study

SHORT = SMOKE.model_copy(update={{"folds": {folds}, "replicates": 1}})
ARM = Arm(
    name="triplet_grid",
    search="Grid search",
    settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
    space=Space(choices=(Choice(path="margins.epsilon", values=tuple(n / {values} for n in range({values}))),)),
)
STUDY = Study(name="soak", title="A soak", question="Does it hold?", presets=(SHORT,), arms=(ARM,))
'''


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """One study of so many search trials."""
    (folder / "soak.py").write_text(STUDY.format(folds=FOLDS, values=max(1, times // FOLDS)), encoding="utf-8")
    command = ("soak.py", "--preset", "smoke", "--gpus-per-trial", "0", "--epochs", "1", "--out", "study")
    process = start(command, folder, str(folder))
    draw, begun, killed = random.Random(seed), time.monotonic(), 0
    due = begun + EVERY_S
    seen: list[tuple[int, float, int]] = []  # trials, MiB, files
    try:
        while process.poll() is None:
            trials = len(list((folder / "study" / "records").glob("*.json")))
            seen += [(trials, *now)] if trials and (now := _size(process.pid)) else []
            workers = [number for number, command in marked(str(folder)).items() if ACTOR in command]
            if trials and workers and time.monotonic() > due:
                kill(draw.choice(sorted(workers)))
                killed, due = killed + 1, time.monotonic() + EVERY_S
            time.sleep(1)
    finally:
        kill(*marked(str(folder)))
    records = list(read_records(folder / "study"))
    mib, files = _slopes(seen)
    measured = {"trials": len(records), "killed": killed, "mib_per_1000": mib, "files_per_1000": files}
    measured |= {"most_mib": max(one[1] for one in seen), "most_files": max(one[2] for one in seen)}
    measured["seconds"] = time.monotonic() - begun
    measured["attempts_lost"] = sum(len(record.attempts) for record in records)
    problems = [] if process.returncode == DONE else [(folder / "screen.txt").read_text(errors="replace")[-2000:]]
    if (statuses := Counter(record.status for record in records)).keys() != {"completed"}:
        problems.append(f"not all completed: {dict(statuses)}")
    for (unit, (once, each)), slope in zip(GROWTH.items(), (mib, files), strict=True):
        if slope * len(records) / 1000 > once + each * len(records) / 1000:
            problems.append(f"the driver grows by {slope:.1f} {unit} for 1,000 trials")
    yield Outcome(f"{len(records)} trials, {killed} workers killed", "; ".join(problems), measured)


def _size(process: int) -> tuple[float, int] | None:
    """A process's resident MiB and open files; None if it has ended."""
    place = Path(f"/proc/{process}")
    try:
        status = (place / "status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 2**10, len(list((place / "fd").iterdir()))
    except (OSError, IndexError):  # the latter of a zombie, which has no memory
        return None


def _slopes(seen: list[tuple[int, float, int]]) -> tuple[float, float]:
    """Return the MiB and files of 1,000 trials more, by least squares over what was seen after the first fifth."""
    last = seen[-1][0]
    trials, mib, files = np.array([one for one in seen if last / 5 <= one[0] < last]).T  # at the end is the report
    return 1000 * float(np.polyfit(trials, mib, 1)[0]), 1000 * float(np.polyfit(trials, files, 1)[0])
