"""How much better the selected configuration looks than it is: selecting the best of many flatters it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from reports.parts.figures import FACES, search_legend
from reports.parts.overview import caption
from reports.reading.results import Results, key_of
from reports.reading.summary import ArmSummary, arm_summaries, completed
from reports.stats import LeftOutOptimism, Optimism, left_out_optimism, optimism
from reports.writing.formats import points
from reports.writing.plotting import NothingToDraw, Plot, look
from reports.writing.tables import Column, Table


@dataclass(frozen=True)
class ArmOptimism:
    """An arm's optimism: of its selection, and with what changes from validation to test in it."""

    arm: ArmSummary
    left_out: LeftOutOptimism
    total: Optimism

    @property
    def n_s(self) -> int:
        return self.arm.cost.n_s

    @property
    def of_selection(self) -> float | None:
        """None where there was nothing to select from."""
        return None if self.left_out.configurations < 2 else self.left_out.optimism

    @property
    def difference(self) -> float | None:
        """Validation minus fresh seeds; None without one."""
        return self.total.optimism if self.arm.test.stat.n else None


def optimisms(results: Results) -> list[ArmOptimism]:
    """One an arm with a selected configuration, in plan order."""
    found = []
    for arm in arm_summaries(results):
        if arm.configuration is None or not arm.validation.complete:
            continue
        by_fold = completed(results.of(arm.name, "search", arm.configuration), "mAP")
        by_seed = completed(results.of(arm.name, "replicate"), "mAP")
        left_out = left_out_optimism(_scores(results, arm.name))
        total = optimism(by_fold, by_seed)
        found.append(ArmOptimism(arm, left_out, total))
    return found


def _scores(results: Results, arm: str) -> Mapping[Any, Mapping[int, float]]:
    """Configuration → fold → validation mAP, of every configuration that was trained."""
    scores: dict[Any, dict[int, float]] = {}
    for trial in results.of(arm, "search"):
        if trial.record is not None:
            fold = {trial.replicate: trial.metric("mAP")} if trial.status == "completed" else {}
            scores.setdefault(key_of(trial.configuration), {}).update(fold)
    return scores


def optimism_table(results: Results) -> Table:
    """The optimism of each arm's selection."""
    found = optimisms(results)
    rows = [
        {
            "arm": one.arm.label,
            "n_s": one.n_s,
            "left_out": one.of_selection,
            "validation": one.arm.validation,
            "test": one.arm.test,
            "optimism": one.difference,
            "low": one.total.low,
            "high": one.total.high,
        }
        for one in found
    ]
    both = "Validation − fresh seeds, points"
    columns = [
        Column("arm", "Arm"),
        Column("n_s", "N_s", "count"),
        Column("left_out", "Left-out fold", "points", "Selection, points"),
        Column("validation", "Validation (folds)", "estimate", "mAP in %, mean ± SE (n)", "validation_n"),
        Column("test", "Test (fresh seeds)", "estimate", "mAP in %, mean ± SE (n)", "test_n"),
        Column("optimism", "Difference", "points", both),
        Column("low", "95 % CI, low", "points", both),
        Column("high", "high", "points", both),
    ]
    text = (
        "How much better the selected configuration looks than it is, in points of mAP. Left-out fold: the "
        "configuration that wins on the other folds, there minus on the fold it was not selected on; nothing but the "
        "selection differs. Validation minus fresh seeds has the change of subjects and of their number in it too: "
        "read it against an arm with N_s = 1, which selected nothing."
    )
    notes = [f"{one.arm.label}: {note}." for one in found for note in _notes(one) if note]
    return Table("selection_optimism", "Optimism of the selection", caption(results, text), columns, rows, notes)


def _notes(one: ArmOptimism) -> tuple[str, ...]:
    """What could not be computed; that nothing was selected among one configuration the caption says."""
    return (one.left_out.note if one.n_s > 1 else "", one.total.note)


def optimism_plot(results: Results) -> Plot:
    """Both optimisms against the number of configurations an arm chose from."""
    found = [one for one in optimisms(results) if one.n_s > 0]
    if not any(one.of_selection is not None for one in found):
        raise NothingToDraw("no arm has selected among two configurations yet")
    losses = list(dict.fromkeys(one.arm.loss for one in found))

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for position, one in enumerate(found):
            number = losses.index(one.arm.loss)
            alike = [other for other in found if other.n_s == one.n_s]
            aside = one.n_s * (1 + 0.14 * (alike.index(one) - (len(alike) - 1) / 2))  # so that none hides another
            style = look(one.arm.search, position) | {"linestyle": "", "fillstyle": FACES[number % len(FACES)]}
            _point(left, aside, one.of_selection, None, None, style)
            _point(right, aside, one.difference, one.total.low, one.total.high, style)
        ticks = sorted({one.n_s for one in found})
        for axes, title in ((left, "On a left-out fold"), (right, "On test, fresh seeds")):
            axes.axhline(0, color="#5b6470", linewidth=0.8)
            axes.set(title=title, xlabel="configurations trained, $N_s$", xscale="log")
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.margins(x=0.15)
        left.set_ylabel("optimism (points of mAP)")
        search_legend(figure, [one.arm for one in found], losses)

    listed = "; ".join(f"{one.arm.label} {points(one.of_selection)} with {one.n_s}" for one in found)
    text = (
        "By how many points the selected configuration looks better than it is. Left: where it was selected minus on "
        "the fold left out. Right: validation minus test with fresh seeds, 95 % CI, with the change of subjects in it."
    )
    return Plot("optimism_vs_search", "More search, more optimism?", caption(results, text), listed, 2.6, draw)


def _point(
    axes: Axes, x: float, value: float | None, low: float | None, high: float | None, style: Mapping[str, Any]
) -> None:
    if value is None:
        return
    error = None if low is None or high is None else [[100 * (value - low)], [100 * (high - value)]]
    axes.errorbar(x, 100 * value, yerr=error, elinewidth=1, capsize=2, **style)
