"""How fast a bank is built, beside the decoder alone, and how a second start goes: python -m tests.benchmarks.bank

The images are radiographs (phantoms where there are none) scaled to 1024 x 1024 px, with so much noise that their PNG
files are as large as those of ChestX-ray14, about 0.4 MB. A few distinct ones are linked until there are enough: each
is decoded every time, but the files come from the page cache, so that no disk is measured when reading. The decoder
alone is Pillow's open and load on all cores, in threads or in processes, whichever is faster. Runs take turns, and the
fastest of each counts; CPU seconds stand beside the clock's because other programs slow the clock.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL
from PIL import Image, features

from fmim_core.data.bank import Bank
from fmim_core.data.blocks import cores
from fmim_core.data.building import build_bank
from fmim_core.data.listing import FileSource
from fmim_core.data.manifest import manifest
from fmim_core.data.phantom import PhantomSource
from fmim_core.data.stamp import NAME

SIDE = 1024
RADIOGRAPHS = Path(__file__).parents[2].parent / "shared" / "data" / "open_cxr" / "images"
FORMATS = {"png": {}, "jpeg": {"quality": 90}}


@dataclass(frozen=True)
class Timing:
    """Of one run: the clock's seconds, and the CPU's of this process and those that it started."""

    wall: float
    cpu: float


def timed(call: Callable[..., Any], *arguments: Any) -> Timing:
    """Run `call` once."""

    def cpu() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)

    wall, before = time.perf_counter(), cpu()
    call(*arguments)
    return Timing(time.perf_counter() - wall, cpu() - before)


def make_images(folder: Path, count: int, distinct: int, form: str) -> Path:
    """A table of `count` images of the format, in `folder`; returns its path."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    (folder / "files").mkdir()
    lines = ["image,subject,months,split"]
    for n in range(count):
        path = folder / "files" / f"{n:05d}.{form}"
        if n < distinct:
            large = np.asarray(picture(n).resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float32)
            noisy = (large + rng.normal(0, 1, large.shape)).round().clip(0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(path, **FORMATS[form])
        else:
            os.link(folder / "files" / f"{n % distinct:05d}.{form}", path)
        lines.append(f"files/{path.name},s{n // 4},{12 * (n % 4)},{'test' if n // 4 % 3 == 0 else 'train'}")
    table = folder / "manifest.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return table


def picture(n: int) -> Image.Image:
    """The n-th small image."""
    if RADIOGRAPHS.is_dir():
        paths = sorted(RADIOGRAPHS.iterdir())
        return Image.open(paths[n % len(paths)]).convert("L")
    return Image.fromarray(PhantomSource().read(n, 320))


def load(path: Path) -> None:
    """What the decoder does."""
    with Image.open(path) as image:
        image.load()


def in_threads(paths: list[Path]) -> None:
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(load, paths))


def in_processes(paths: list[Path]) -> None:
    with multiprocessing.get_context("fork").Pool(cores()) as pool:
        pool.map(load, paths, chunksize=16)
        pool.close()
        pool.join()


def build(table: Path, size: int, root: Path) -> Bank:
    shutil.rmtree(root, ignore_errors=True)
    return build_bank(FileSource(manifest(table)), size, root)


def start_again(table: Path, size: int, root: Path) -> None:
    build_bank(FileSource(manifest(table)), size, root).check()


def compare(table: Path, sizes: list[int], repeats: int, root: Path) -> None:
    """Print images a second, and how that compares with the decoder alone."""
    paths = sorted((table.parent / "files").iterdir())
    mean = sum(path.stat().st_size for path in paths) / len(paths)
    print(
        f"{len(paths):,} images of {SIDE} x {SIDE} px as {paths[0].suffix[1:].upper()}, {mean / 1e3:.0f} kB on average"
    )
    runs: dict[str, list[Timing]] = {}
    for _ in range(repeats):
        runs.setdefault("decoder alone, threads", []).append(timed(in_threads, paths))
        runs.setdefault("decoder alone, processes", []).append(timed(in_processes, paths))
        for size in sizes:
            runs.setdefault(f"bank at {size} px", []).append(timed(build, table, size, root / str(size)))
    best = {what: Timing(min(r.wall for r in some), min(r.cpu for r in some)) for what, some in runs.items()}
    alone = [best[what] for what in list(best)[:2]]
    wall, cpu = min(one.wall for one in alone), min(one.cpu for one in alone)
    for what, one in best.items():
        rate, each = len(paths) / one.wall, 1e3 * one.cpu / len(paths)
        ratio = (
            f"   {wall / one.wall:.2f} of the decoder alone; by CPU time {cpu / one.cpu:.2f}" if "bank" in what else ""
        )
        print(f"  {what:26s} {rate:7.1f} images/s  {each:6.2f} CPU ms an image{ratio}")
    for size in sizes:
        bank = build_bank(FileSource(manifest(table)), size, root / str(size))
        stamped = min(timed(start_again, table, size, root / str(size)).wall for _ in range(repeats))
        (bank.path / NAME).unlink()
        hashed = timed(start_again, table, size, root / str(size)).wall
        each = min(timed(Bank.open, bank.path).wall for _ in range(repeats))
        print(
            f"  second start at {size:4d} px: {stamped:.3f} s with the table read anew; {hashed:.3f} s where no stamp "
            f"says that the {bank.count * size**2 / 1e6:.0f} MB were checked; Bank.open in a trial {1e3 * each:.1f} ms"
        )


def peak_mib() -> float:
    """Peak resident memory of this program; getrusage would count what its parent had when it was started."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 2**10


def memory(table: Path, size: int, root: Path) -> None:
    """To be run in a process of its own."""
    before = peak_mib()
    build(table, size, root)
    print(f"  peak memory at {size:4d} px: {peak_mib() - before:.0f} MiB above the {before:.0f} MiB before the build")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="images (default 2000)")
    parser.add_argument("--distinct", type=int, default=40, help="distinct images among them (default 40)")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many runs counts (default 3)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[280, SIDE], help="of the banks (default 280 1024)")
    options = parser.parse_args()
    print(f"{cores()} cores, Pillow {PIL.__version__}, zlib-ng: {features.check('zlib_ng')}")
    with tempfile.TemporaryDirectory(prefix="fmim-bank-") as folder:
        for form in FORMATS:
            table = make_images(Path(folder) / form, options.count, min(options.count, options.distinct), form)
            compare(table, options.sizes, options.repeats, Path(folder) / "banks")
            for size in options.sizes:
                arguments = (table, size, Path(folder) / "banks" / str(size))
                process = multiprocessing.get_context("spawn").Process(target=memory, args=arguments)
                process.start()
                process.join()
                if process.exitcode:
                    sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
