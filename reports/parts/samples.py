"""Retrieval samples: a few queries, their ground truth, and what each arm found first. Fig. 1(a), Suppl. Fig. 3."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.records import RetrievalSample
from reports.reading.results import Results
from reports.sections import Section, in_every_study
from reports.writing.captions import caption
from reports.writing.plotting import COLUMN_INCHES, INK, NothingToDraw, Plot

FOUND, MISSED = "#009E73", "#E69F00"  # green and orange as in the paper, in their colour-blind safe shades
MAX_ARMS = 7


@in_every_study(Section.FIGURES)
def samples_plot(results: Results) -> Plot:
    """Rows are queries; columns the query, its nearest true match, and each arm's top-1, framed green or orange.

    Raises:
        NothingToDraw: no arm has its first replicate yet, or the sampled images are missing.
    """
    found = _samples(results)
    labels = {arm.name: arm.label for arm in results.arms}
    queries = [sample.query_row for sample in next(iter(found.values()))]
    images = {path.stem: _read(path) for path in sorted((results.out / "samples").glob("*.png"))}
    needed = {str(row) for samples in found.values() for sample in samples for row in sample.rows}
    if missing := sorted(needed - set(images)):
        raise NothingToDraw(f"samples/{missing[0]}.png is missing: run the study again to write it, without any trial")

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(queries), 2 + len(found), squeeze=False)
        for row, query in zip(panels, queries, strict=True):
            per_arm = {arm: next(s for s in samples if s.query_row == query) for arm, samples in found.items()}
            first = next(iter(per_arm.values()))
            _show(row[0], images[str(query)], f"{first.years} y")
            _show(row[1], images[str(first.truth_row)], "")
            for axes, sample in zip(row[2:], per_arm.values(), strict=True):
                rank = sample.rank
                _show(axes, images[str(sample.top_row)], f"rank {rank}", FOUND if rank == 1 else MISSED)
        for axes, title in zip(panels[0], ["query", "truth", *(labels[arm] for arm in found)], strict=True):
            axes.set_title(title.replace(" + ", "\n+ "), fontsize=7, rotation=90, va="bottom")

    text = (
        "Each row is one query, the latest visit of a test subject (its years after baseline beneath), its nearest "
        "true match as the first arm ranks it, and the first image each arm's seed 0 retrieved: green frame, the right "
        "person; orange, somebody else, with the rank of the nearest true match. The subjects are drawn by a hash, "
        "alike for every arm."
    )
    alt = "; ".join(f"{labels[arm]}: ranks {', '.join(str(s.rank) for s in found[arm])}" for arm in found)
    side = COLUMN_INCHES / (2 + len(found))
    height = len(queries) * (side + 0.14) + 1.1
    return Plot("retrieval_samples", "Retrieval samples", caption(results, text), alt, height, draw)


def _samples(results: Results) -> dict[str, tuple[RetrievalSample, ...]]:
    """The samples of each arm's first replicate, of at most seven arms: first those that are compared."""
    compared = {name for pair in results.comparisons for name in pair}
    arms = [arm.name for arm in results.arms]
    if len(arms) > MAX_ARMS:
        arms = sorted(arms, key=lambda name: name not in compared)[:MAX_ARMS]
    found = {}
    for arm in arms:
        first = [t.record for t in results.of(arm, "replicate") if t.replicate == 0 and t.status == "completed"]
        if first and first[0] and first[0].samples:
            found[arm] = first[0].samples
    queries = {tuple(sample.query_row for sample in samples) for samples in found.values()}
    if len(queries) != 1:
        raise NothingToDraw("no arm has completed its first replicate" if not found else "arms have different samples")
    return found


def _read(path: Path) -> np.ndarray:
    return np.asarray(matplotlib.image.imread(path))


def _show(axes: Axes, image: np.ndarray, text: str, frame: str | None = None) -> None:
    axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(text, fontsize=7, labelpad=1, color=INK)
    for spine in axes.spines.values():
        spine.set_visible(frame is not None)
        spine.set_edgecolor(frame or INK)
        spine.set_linewidth(2)
