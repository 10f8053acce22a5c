"""What a study must survive: python -m tests.stress [--only NAME ...] [--times N] [--seed S] [--json FILE]

Every scenario does harm to real processes, files, servers and inputs, many times, drawn from a seed, and checks after
each time that nothing was lost, doubled or wrong. It takes from minutes to hours; a shortened form of each is in the
test suite. The exit code is 1 if anything did not hold. With --keep all that the scenarios wrote stays in that folder.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from fmim.printing import TextConsole
from fmim_core.records import now, write_json
from tests.stress.outcome import Outcome

# Modules beside this one, in the order in which they run. Each has TIMES, how often it runs where nothing is said, and
# `attempts(times, seed, folder)`, which yields an Outcome for each time; it writes below the folder alone.
SCENARIOS: tuple[str, ...] = ("damage", "fuzz", "kills", "long_kills", "signals", "soak", "gpus")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=SCENARIOS, default=SCENARIOS, metavar="NAME", help=", ".join(SCENARIOS)
    )
    parser.add_argument("--times", type=int, help="how often each scenario does its harm (default: its own number)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write there, and leave it")
    options = parser.parse_args()
    report: dict[str, Any] = {"started_at": now(), "seed": options.seed, "scenarios": {}}
    with tempfile.TemporaryDirectory(prefix="stress-") as temporary:
        for name in options.only:
            folder = (options.keep or Path(temporary)) / name
            folder.mkdir(parents=True)
            outcomes = report["scenarios"][name] = []
            for outcome in run(name, options.times, options.seed, folder):
                outcomes.append(outcome.to_json())
                if options.json:  # every time: what is known stays, whatever comes next
                    write_json(options.json, report)
    TextConsole(width=None if sys.stdout.isatty() else 150).print(table(report))
    return int(not all(outcome["ok"] for outcomes in report["scenarios"].values() for outcome in outcomes))


def run(name: str, times: int | None, seed: int, folder: Path) -> Iterator[Outcome]:
    """The outcomes of a scenario, each told as it comes; an error of the scenario's own is one that did not hold."""
    scenario = importlib.import_module(f"tests.stress.{name}")
    began = time.monotonic()
    try:
        for outcome in scenario.attempts(times or scenario.TIMES, seed, folder):
            tell(name, began, outcome)
            yield outcome
    except Exception as error:
        traceback.print_exc()
        failure = Outcome("the scenario itself", f"{type(error).__name__}: {error}")
        tell(name, began, failure)
        yield failure


def tell(name: str, began: float, outcome: Outcome) -> None:
    """One line of an outcome."""
    measured = ", ".join(f"{key} {value:.4g}" for key, value in outcome.measured.items())
    said = outcome.problem or "held"
    print(f"{name} {time.monotonic() - began:7.0f} s  {outcome.what}: {said}  {measured}", file=sys.stderr, flush=True)


def table(report: dict[str, Any]) -> Table:
    """One row for each scenario: how often it ran, what did not hold, and what was measured."""
    result = Table(title=f"stress, seed {report['seed']}", title_justify="left")
    for column in ("scenario", "times", "did not hold", "measured: minimum, median, maximum", "first problem"):
        result.add_column(column, justify="right" if column in ("times", "did not hold") else "left")
    for name, outcomes in report["scenarios"].items():
        values: dict[str, list[float]] = defaultdict(list)
        for outcome in outcomes:
            for key, value in outcome["measured"].items():
                values[key].append(value)
        measured = "\n".join(
            f"{key}: {min(v):.4g}, {statistics.median(v):.4g}, {max(v):.4g}" for key, v in values.items()
        )
        problems = [f"{outcome['what']}: {outcome['problem']}" for outcome in outcomes if not outcome["ok"]]
        result.add_row(name, str(len(outcomes)), str(len(problems)), measured, escape(problems[0] if problems else ""))
    return result


if __name__ == "__main__":
    sys.exit(main())
