"""Building a bank beside the decoder alone, the second start, and the memory that building takes.

The images are radiographs (phantoms where there are none) scaled to 1024 x 1024 px, with so much noise that their PNG
files are as large as those of ChestX-ray14, about 0.4 MB. A few distinct ones are linked until there are enough: each
is decoded every time, but the files come from the page cache, so that no disk is measured when reading. The decoder
alone is Pillow's open and load on all cores, in threads or in processes, whichever is faster.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from PIL import Image

from fmim_core.data.bank.bank import STAMP, Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.manifest import manifest
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.machine import cores
from tests.benchmarks.measurement import Measurement, alone, fastest, median_pair, resident_mib
from tests.support.paths import REAL_DATA

RADIOGRAPHS = REAL_DATA / "open_cxr" / "images"
SIDE, SIZE, DISTINCT = 1024, 280, 20
"""Pixels of the files and of the bank; how many files differ."""
BUILDING, SECOND_START_S, PEAK_GIB = 1.20, 1.0, 1.0
"""What is asked: building over decoding alone, from PNGs; seconds of a second start; GiB that building takes."""
FORMATS: dict[str, dict[str, Any]] = {"png": {}, "jpeg": {"quality": 90}}


def measure(device: torch.device, count: int = 600, repeats: int = 3) -> Iterator[Measurement]:
    """Of so many images, in so many runs each; nothing on a GPU, which has no part in this."""
    if device.type != "cpu":
        return
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="fmim-bank-") as folder,
        ThreadPoolExecutor(cores()) as threads,
        ProcessPoolExecutor(cores(), mp_context=spawn) as processes,  # the first of several runs starts them
    ):
        png, jpeg = (_make_images(Path(folder) / form, count, form) for form in FORMATS)
        pools = {"threads": threads, "processes": processes}
        yield _building(png, pools, repeats, BUILDING)
        yield _building(jpeg, pools, repeats, None)
        yield _second_start(png, repeats)
        yield _memory(png)


def _make_images(folder: Path, count: int, form: str) -> Path:
    """A table of `count` images of the format, in `folder`; returns its path."""
    rng = np.random.default_rng(0)
    (folder / "files").mkdir(parents=True)
    lines = ["image,subject,months,split"]
    for n in range(count):
        path = folder / "files" / f"{n:05d}.{form}"
        if n < DISTINCT:
            large = _picture(n).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
            noisy = (np.asarray(large) + rng.normal(0, 1, (SIDE, SIDE))).round().clip(0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(path, **FORMATS[form])
        else:
            os.link(folder / "files" / f"{n % DISTINCT:05d}.{form}", path)
        lines.append(f"files/{path.name},s{n // 4},{12 * (n % 4)},{'test' if n // 4 % 3 == 0 else 'train'}")
    table = folder / "manifest.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return table


def _picture(n: int) -> Image.Image:
    """The n-th small image."""
    if RADIOGRAPHS.is_dir():
        return Image.open(sorted(RADIOGRAPHS.iterdir())[n]).convert("L")
    return Image.fromarray(PhantomSource().read(n, 320))


def _building(table: Path, pools: dict[str, Executor], repeats: int, asked: float | None) -> Measurement:
    """By the clock; CPU time stands beside it because other programs slow the clock."""
    paths = sorted((table.parent / "files").iterdir())
    runs = {in_: partial(_decode, pool, paths) for in_, pool in pools.items()} | {"ours": partial(_build, table)}
    runs["shrunk"] = partial(_decode, pools["threads"], paths, SIZE)
    clock: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):  # in turn, so that whatever else runs slows all of them
        for name, run in runs.items():
            shutil.rmtree(table.parent / "banks", ignore_errors=True)
            begun = time.perf_counter()
            cpu[name].append(run())
            clock[name].append(time.perf_counter() - begun)
    best = min(pools, key=lambda in_: min(clock[in_]))
    form, each = table.parent.name.upper(), 1e3 / len(paths)
    ours, theirs = median_pair(clock["ours"], clock[best])
    mean = sum(path.stat().st_size for path in paths) / len(paths)
    shrunk = median(clock["shrunk"]) / median(clock[best])
    what = "radiographs" if RADIOGRAPHS.is_dir() else "phantoms"
    cpu_ratio = min(cpu["ours"]) / min(min(cpu[in_]) for in_ in pools)
    return Measurement(
        "bank",
        f"building at {SIZE} px from {form}s of {SIDE} px",
        each * ours,
        f"the decoder alone, in {best}",
        each * theirs,
        asked,
        f"by CPU time {cpu_ratio:.3f}; with Pillow's resize alone {shrunk:.3f}; {what} of {mean / 1e3:.0f} kB",
        unit="ms an image",
    )


def _decode(pool: Executor, paths: list[Path], size: int | None = None) -> float:
    """Return CPU seconds, those of decoding alone or, by a size, of shrinking as well."""
    return sum(pool.map(partial(_load, size=size), paths, chunksize=4))


def _load(path: Path, size: int | None) -> float:
    """Do what the decoder does, and by a size the resize; return the CPU seconds."""
    begun = time.thread_time()
    with Image.open(path) as image:
        image.load()
        if size is not None:
            image.resize((size, size), Image.Resampling.BILINEAR)
    return time.thread_time() - begun


def _build(table: Path) -> float:
    """A bank beside the table, from nothing; return CPU seconds."""
    shutil.rmtree(table.parent / "banks", ignore_errors=True)
    begun = time.process_time()
    _start(table)
    return time.process_time() - begun


def _start(table: Path) -> Bank:
    """Do what a study does at its start, with the bank that is there, if any."""
    bank = build_bank(FileSource(manifest(table)), SIZE, table.parent / "banks")
    bank.check()
    return bank


def _second_start(table: Path, repeats: int) -> Measurement:
    """With the table read anew, and the stamp there; then without the stamp."""
    bank = _start(table)
    stamped = fastest({"start": lambda: _start(table)}, repeats, warm_up=0)["start"]
    (bank.path / STAMP).unlink()
    hashed = fastest({"start": lambda: _start(table)}, repeats=1, warm_up=0)["start"]
    what, size = f"second start with {bank.count:,} images", bank.count * SIZE**2 / 1e6
    note = f"{hashed:.3f} s where the {size:.0f} MB are hashed again, for want of a stamp"
    return Measurement("bank", what, stamped, "1 s", SECOND_START_S, 1.0, note)


def _memory(table: Path) -> Measurement:
    """Of a process of its own, above what it had before it built."""
    before, _, peak = alone(_build_watched, table)
    what, note = "peak memory of building, above what was there", f"{before:.2f} GiB were there"
    return Measurement("bank", what, peak - before, "1 GiB", PEAK_GIB, 1.0, note, unit="GiB")


def _build_watched(table: Path) -> float:
    """Return the GiB that were there before."""
    before = resident_mib("VmRSS") / 2**10
    _build(table)
    return before
