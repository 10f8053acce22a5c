"""Making a bank: every image of a source decoded on all cores, in blocks, so that a stopped build is resumed."""

from __future__ import annotations

import hashlib
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd

from fmim_core.data.bank.bank import SCHEMA, Bank, content_fingerprint
from fmim_core.data.bank.partial import ImageOutcome, Partial, building_folder
from fmim_core.data.image_set import ROLES, ImageSet, mixed_roles, roles_of
from fmim_core.data.images.reading import ImageProblem, appearance
from fmim_core.data.source import EVERY_COLUMN, INDEX_COLUMNS, Progress, Source
from fmim_core.fingerprint import fingerprint
from fmim_core.machine import cores
from fmim_core.metric_names import INTERVALS
from fmim_core.records import Damaged, set_aside, write_json, write_text

SIZES = range(8, 2049)  # sides in pixels that a bank may have
GREY = ("channels", 1)  # not written, as before there was colour


def development_index(source: Source, size: int) -> ImageSet:
    """Return the development images of a source before any is decoded: who and when, enough to check a plan.

    Raises:
        ValueError: the index is not usable.
    """
    index = _checked(source.index)
    return _image_set(source, index[index["split"] == "train"], size)


def build_bank(
    source: Source,
    size: int,
    root: str | Path,
    progress: Progress | None = None,
    tell: Callable[[str], object] = warnings.warn,
) -> Bank:
    """Decode every image of `source` at `size` × `size` pixels into a bank under `root`, or reuse it if it is there.

    The folder is `<name>-<12 hex of source fingerprint and size>`. The bank is built in a folder beside it and
    renamed, so it is there whole or not at all. One process builds it, others wait (`partial.building_folder`). A
    build that was stopped, or that found images it cannot use, keeps what it has decoded, and the next one of a data
    set of that name and size resumes from there. The bank's own fingerprint covers the decoded content alone: copied
    images give the same one. Its description is the source's current one, since a table may change in what neither
    images nor index depend on. A bank that is there is checked to the last bit (`Bank.check`); a damaged one is set
    aside and built again, and `tell` receives a message.

    Raises:
        ValueError: the size or the index is not usable, some images cannot be read (all are tried, the first ten
            named), the disk is too full, or what is there in its place is no bank.
    """
    if size not in SIZES:
        raise ValueError(f"image size {size!r} is not allowed: give a whole number from {SIZES[0]} to {SIZES[-1]}")
    place = _place(source, size, root)
    if place.exists():
        try:
            bank = Bank.open(place)
            bank.check()
        except Damaged as damaged:
            tell(f"{damaged}. It was moved to {set_aside(place).name} and is built again")
        else:
            return replace(bank, description=source.description)
    index = _checked(source.index)
    with building_folder(place.with_name(f".{source.description.name}-{size}.partial")) as folder:
        if not place.exists():  # otherwise another process has built it meanwhile
            keys = source.image_keys or [f"{source.fingerprint} {row}" for row in range(len(index))]
            with Partial(folder, [f"{SCHEMA} {key}" for key in keys], source.description.shape(size)) as partial:
                partial.check_room()
                _build(source, index, size, partial, progress)
                partial.become(place)
    return replace(Bank.open(place), description=source.description)


def find_bank(source: Source, size: int, root: str | Path) -> Bank | None:
    """Return the bank of `source` at that size under `root`, unchecked; None where it has to be built."""
    try:
        return replace(Bank.open(_place(source, size, root)), description=source.description)
    except ValueError:
        return None


def _place(source: Source, size: int, root: str | Path) -> Path:
    return Path(root).absolute() / f"{source.description.name}-{fingerprint([SCHEMA, source.fingerprint, size])[:12]}"


def _build(source: Source, index: pd.DataFrame, size: int, partial: Partial, progress: Progress | None) -> None:
    """Write all files of the bank, and read them back."""
    digest, outcomes, hashes = hashlib.sha256(), list[ImageOutcome](), list[str]()
    for images, found in _decoded(source, len(index), size, partial, progress):
        digest.update(images.data)
        hashes.append(partial.write(len(outcomes), images, found))
        outcomes += found
    if problems := [outcome for outcome in outcomes if isinstance(outcome, ImageProblem)]:
        what = _listed(f"{len(problems)} of {len(index)} images cannot be used", [str(one) for one in problems])
        raise ValueError(f"{what}\nThe images that could be read are kept in {partial.bank.parent} for the next start")
    partial.flush()
    sets, sha256 = {}, {"images.u8": digest.hexdigest()}
    for split, side in (("train", "development"), ("test", "test")):
        part = index[index["split"] == split]
        content = part.to_csv(index=False, lineterminator="\n")
        write_text(partial.bank / f"{side}.csv", content)
        sha256[f"{side}.csv"] = hashlib.sha256(content.encode()).hexdigest()
        sets[side] = _image_set(source, part, size).summary()
    about = {
        "schema": SCHEMA,
        "fingerprint": content_fingerprint(size, sha256, source.description),
        "size": size,
        "count": len(index),
        "description": {name: value for name, value in asdict(source.description).items() if (name, value) != GREY},
        "summary": sets,
        "warnings": [f"{name}: {remark}" for name, remark in zip(index["image"], outcomes, strict=True) if remark],
        "files": sha256,
        "blocks": {"images": partial.step, "sha256": hashes},
    }
    write_json(partial.bank / "bank.json", about)
    Bank.open(partial.bank).check()


def _image_set(source: Source, part: pd.DataFrame, size: int) -> ImageSet:
    """Return the rows of an index without their images."""
    nothing = np.empty((0, *source.description.shape(size)), np.uint8)
    return ImageSet.of(part, nothing, INTERVALS[source.description.interval])


def _decoded(
    source: Source, count: int, size: int, partial: Partial, progress: Progress | None
) -> Iterator[tuple[np.ndarray, list[ImageOutcome]]]:
    """Yield the images of every block in order, with what is to say of each, while the next ones are decoded.

    Threads suffice, since decoders release the lock; a source whose `read` does not says how many `threads` it is worth
    to use. Only a few blocks are under way at once, which bounds the memory: one that is waited for, and enough for
    all threads.
    """
    step, threads = partial.step, min(cores(), source.threads or cores())
    under_way: deque[tuple[int, np.ndarray, list[Future[ImageOutcome]]]] = deque()
    pool = ThreadPoolExecutor(threads)

    def begin(start: int) -> None:
        images = np.empty((min(step, count - start), *source.description.shape(size)), np.uint8)
        rows = enumerate(images, start)
        under_way.append((start, images, [pool.submit(_decode, source, partial, row, out) for row, out in rows]))

    def finish() -> tuple[np.ndarray, list[ImageOutcome]]:
        start, images, futures = under_way.popleft()
        outcomes = []
        for done, future in enumerate(futures, start + 1):
            outcomes.append(future.result())
            if progress:
                progress(done, count)
        return images, outcomes

    try:
        for start in range(0, count, step):
            begin(start)
            if len(under_way) > 1 + 2 * threads // step:
                yield finish()
        while under_way:
            yield finish()
    finally:
        pool.shutdown(cancel_futures=True)


def _decode(source: Source, partial: Partial, row: int, out: np.ndarray) -> ImageOutcome:
    """Put the image of a row into `out`, from an earlier build if that has it."""
    if not partial.find(row, out):
        try:
            image = source.read(row, len(out))
        except ImageProblem as problem:
            out[:] = 0
            return problem
        assert (image.shape, image.dtype) == (out.shape, np.uint8), (image.shape, image.dtype)
        out[:] = image
    return appearance(out)


def _checked(index: pd.DataFrame) -> pd.DataFrame:
    """Return the index with its `row`; raise where a source broke its promise, above all subjects on both sides."""
    assert {*INDEX_COLUMNS} <= {*index}, list(index)
    assert index["split"].isin(["train", "test"]).all(), set(index["split"])
    by_split = {split: set(index["subject"][index["split"] == split]) for split in ("train", "test")}
    if empty := [split for split, subjects in by_split.items() if not subjects]:
        raise ValueError(f"no image has the split {empty[0]!r}: both 'train' and 'test' need images")
    if both := sorted(by_split["train"] & by_split["test"]):
        raise ValueError(_listed(f"{len(both)} subjects are in both train and test", both))
    assert index["side"].isin(["", "L", "R"]).all(), set(index["side"])
    assert not (index["months"] < 0).any()
    assert np.isin(roles := roles_of(index), ROLES).all(), set(roles)
    assert not mixed_roles(index)
    columns = [name for name in EVERY_COLUMN if name in index]
    return index[columns].assign(row=np.arange(len(index)))


def _listed(what: str, items: list[str]) -> str:
    return "\n  ".join([f"{what}:", *items[:10], *(["..."] if len(items) > 10 else [])])
