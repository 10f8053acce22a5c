"""All benchmarks as one table: python -m tests.benchmarks [--quick] [--json FILE] [--only LEVEL ...] [--device DEVICE]

Each number stands beside a peer's or a bound's of the same run on the same machine; what was asked for is a ratio.
Without --device everything is measured on the CPU and, where there is one, on the GPU; imports, the start, the bank,
the runner, the scale and the quick study have no part on a GPU, and the full one has none on a CPU. With --quick each
entry does less, as its notes say: small counts have more noise, and a fixed cost weighs more in them. The exit code is
1 if an entry failed or a ratio is over what was asked. With --tiny numbers mean nothing, and only failures count: it
tries the program itself.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import PIL
import torch
from PIL import features
from rich.table import Table

from fmim.printing import TextConsole
from fmim_core.machine import processor
from fmim_core.records import now, write_json


@dataclass(frozen=True)
class Entry:
    """A module beside this one with `measure(device)`, which returns or yields its measurements; none of some devices.

    seconds: about, on the CPU of a machine of 2 cores with nothing else to do, of the whole entry and of the quick one;
    the program says at the end of each what it took. quick, tiny: the arguments of `measure` that make it quick, or so
    small that its numbers mean nothing.
    """

    seconds: float
    quick_seconds: float
    quick: Mapping[str, Any]
    tiny: Mapping[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, Entry] = {  # in the order of the table
    "imports": Entry(25, 10, {"repeats": 1}),
    "start": Entry(140, 45, {"repeats": 1, "killed": False}),
    "bank": Entry(80, 15, {"count": 100, "repeats": 1}),
    "loss": Entry(5, 1, {"repeats": 25}, {"repeats": 2}),
    "step": Entry(40, 10, {"repeats": 1}, {"tiny": True}),
    "roofline": Entry(15, 15, {}, {"sizes": ()}),
    "retrieval": Entry(
        *(180, 30),
        {"repeats": 2, "large_size": 20_000, "one_query_of": 10},
        {"repeats": 1, "large_size": 1000, "one_query_of": 200},
    ),
    "precision": Entry(25, 15, {"seeds": 2}, {"seeds": 2, "preset": "smoke"}),
    "runner": Entry(90, 30, {"trials": 20}),
    "scale": Entry(60, 20, {"trials": 2000}),
    "quick": Entry(420, 85, {"preset": "smoke"}),
    "full": Entry(1, 1, {}, {"preset": "smoke", "seconds": 25.0}),  # on a GPU alone: 2 minutes and a half
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument(
        "--only", nargs="+", choices=list(ENTRIES), default=list(ENTRIES), metavar="LEVEL", help=", ".join(ENTRIES)
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), help="measure on this one only")
    parser.add_argument("--quick", action="store_true", help="smaller counts: every entry in less than 4 minutes")
    parser.add_argument("--tiny", action="store_true", help="sizes of a moment, to try the program itself")
    options = parser.parse_args()
    size = "tiny" if options.tiny else "quick" if options.quick else ""
    there = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    if options.device not in (None, *there):
        parser.error(f"--device {options.device}: this machine has no NVIDIA GPU")
    report: dict[str, Any] = {
        "started_at": now(),
        "environment": environment(),
        "measurements": [],
        "failures": [],
        "seconds": [],
    }
    console = TextConsole(width=None if sys.stdout.isatty() else 150)
    devices = [options.device] if options.device else there
    if "cpu" in devices and size != "tiny":
        print(expected(options.only, options.quick), file=sys.stderr)
    for device in devices:
        for entry in options.only:
            for _ in run(entry, device, report, size):
                if options.json:  # every time: what is measured stays, whatever comes next
                    write_json(options.json, report)
        console.print(table(device, report))
    over = [row["what"] for row in report["measurements"] if row["ok"] is False]
    for failure in report["failures"]:
        console.print(f"[red]failed:[/] {failure['entry']} on {failure['device']}: {failure['error']}", markup=True)
    return int(bool(report["failures"] or (over and size != "tiny")))


def expected(names: Sequence[str], quick: bool) -> str:
    """Say how long the entries take on the CPU, one by one and together."""
    seconds = {name: ENTRIES[name].quick_seconds if quick else ENTRIES[name].seconds for name in names}
    parts = ", ".join(f"{name} {in_words(taken)}" for name, taken in seconds.items())
    return f"On the CPU of a machine with 2 idle cores this takes {in_words(sum(seconds.values()))}: {parts}."


def in_words(seconds: float) -> str:
    """`about 40 s` or `about 12 min`."""
    return f"about {max(1, round(seconds / 5)) * 5} s" if seconds < 90 else f"about {max(1, round(seconds / 60))} min"


def run(name: str, device: str, report: dict[str, Any], size: str = "") -> Iterator[None]:
    """Add an entry's measurements to the report, one by one, and then what it failed with."""
    print(f"{name} on {device} ...", file=sys.stderr, flush=True)
    smaller, begun = getattr(ENTRIES[name], size) if size else {}, time.perf_counter()
    less = f"{size}: {'; '.join(f'{name} = {value}' for name, value in smaller.items())}" if smaller else ""
    try:
        measured = importlib.import_module(f"tests.benchmarks.{name}").measure(torch.device(device), **smaller)
        for measurement in measured:
            said = "; ".join(filter(None, (measurement.note, less)))
            report["measurements"].append({"device": device} | replace(measurement, note=said).to_json())
            yield
    except Exception as error:
        traceback.print_exc()
        report["failures"].append({"entry": name, "device": device, "error": f"{type(error).__name__}: {error}"})
    report["seconds"].append({"entry": name, "device": device, "seconds": time.perf_counter() - begun})
    print(f"{name} on {device}: {report['seconds'][-1]['seconds']:.0f} s", file=sys.stderr, flush=True)
    yield


def table(device: str, report: dict[str, Any]) -> Table:
    """Return what was measured on a device."""
    about = report["environment"]
    name = about["gpu"] if device == "cuda" else f"{about['cpu']}, {about['threads']} thread(s)"
    result = Table(title=f"{name}, torch {about['torch']}", title_justify="left")
    for column in ("what", "ours", "against", "theirs", "ratio", "asked", ""):
        result.add_column(column, justify="right" if column in ("ours", "theirs", "ratio", "asked") else "left")
    level = None
    for row in report["measurements"]:
        if row["device"] != device:
            continue
        if row["level"] != level:
            level = row["level"]
            result.add_section()
        what = row["what"] + (f"\n[dim]{row['note']}[/]" if row["note"] else "")
        numbers = (in_units(row[side], row["unit"]) for side in ("ours", "theirs"))
        asked = "" if row["asked"] is None else f"≤ {row['asked']:.3g}"
        verdict = {True: "[green]ok[/]", False: "[red]over[/]", None: ""}[row["ok"]]
        result.add_row(what, next(numbers), row["against"], next(numbers), f"{row['ratio']:.3f}", asked, verdict)
    return result


def in_units(value: float, unit: str) -> str:
    """A number with its unit; seconds below one as milliseconds."""
    return f"{1e3 * value:.3g} ms" if unit == "s" and abs(value) < 1 else f"{value:.3g} {unit}".strip()


def environment() -> dict[str, Any]:
    """Return what everything depends on."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "pillow": PIL.__version__,
        "zlib_ng": features.check("zlib_ng"),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
        "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
    }


if __name__ == "__main__":
    sys.exit(main())
