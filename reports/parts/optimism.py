"""How much better the selected configuration looks than it is: selecting the best of many flatters it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from reports.reading.results import Results, key_of
from reports.reading.summary import ArmSummary, arm_summaries, completed
from reports.sections import Section, a_choice, in_every_study
from reports.stats import LeftOutOptimism, Optimism, left_out_optimism, optimism
from reports.writing.captions import caption
from reports.writing.formats import points
from reports.writing.looks import Look, aside, looks, marker_legend
from reports.writing.plotting import NothingToDraw, Plot
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
        """How much better validation is than fresh seeds; None without one."""
        return self.total.optimism if self.arm.test.stat.n else None


def optimisms(results: Results) -> list[ArmOptimism]:
    """One per arm with a selected configuration, in plan order."""
    metric, found = results.metric, []
    for arm in arm_summaries(results):
        if arm.configuration is None or not arm.validation.complete:
            continue
        by_fold = completed(results.of(arm.name, "search", arm.configuration), metric.name)
        by_seed = completed(results.of(arm.name, "replicate"), metric.name)
        left_out = left_out_optimism(_scores(results, arm.name), metric.higher_is_better)
        total = optimism(by_fold, by_seed, higher_is_better=metric.higher_is_better)
        found.append(ArmOptimism(arm, left_out, total))
    return found


def _scores(results: Results, arm: str) -> Mapping[Any, Mapping[int, float]]:
    """Configuration → fold → validation score, of every configuration that was trained."""
    scores: dict[Any, dict[int, float]] = {}
    for trial in results.of(arm, "search"):
        if trial.record is not None:
            fold = {trial.replicate: trial.metric(results.metric.name)} if trial.status == "completed" else {}
            scores.setdefault(key_of(trial.configuration), {}).update(fold)
    return scores


@in_every_study(Section.MORE, a_choice)
def optimism_table(results: Results) -> Table:
    """The optimism of each arm's selection."""
    found, label = optimisms(results), results.metric.label
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
    minus = "Validation − fresh seeds" if results.metric.higher_is_better else "Fresh seeds − validation"
    both, group = f"{minus}, percentage points", f"{label} in %, mean ± SE (n)"
    columns = [
        Column("arm", "Arm"),
        Column("n_s", "N_s", "count"),
        Column("left_out", "Left-out fold", "points", "Selection, percentage points"),
        Column("validation", "Validation (folds)", "estimate", group, "validation_n"),
        Column("test", "Test (fresh seeds)", "estimate", group, "test_n"),
        Column("optimism", "Difference", "points", both),
        Column("low", "95 % CI, low", "points", both),
        Column("high", "high", "points", both),
    ]
    text = (
        f"How much better the selected configuration looks than it is, in percentage points of {label}. Left-out fold: "
        "the configuration that wins on the other folds, there compared with the fold it was not selected on; nothing "
        f"but the selection differs. {minus} has the change of subjects and of their number in it too: read it against "
        "an arm with N_s = 1, which selected nothing."
    )
    notes = [f"{one.arm.label}: {note}." for one in found for note in _notes(one) if note]
    return Table("selection_optimism", "Optimism of the selection", caption(results, text), columns, rows, notes)


def _notes(one: ArmOptimism) -> tuple[str, ...]:
    """What could not be computed; that nothing was selected among one configuration the caption says."""
    return (one.left_out.note if one.n_s > 1 else "", one.total.note)


@in_every_study(Section.FIGURES, a_choice)
def optimism_plot(results: Results) -> Plot:
    """Both optimisms against the number of configurations an arm chose from."""
    found = [one for one in optimisms(results) if one.n_s > 0]
    if not any(one.of_selection is not None for one in found):
        raise NothingToDraw("no arm has selected among two configurations yet")
    label, styles = results.metric.label, looks(results)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for one in found:
            alike = [other for other in found if other.n_s == one.n_s]
            x = one.n_s * aside(alike.index(one), len(alike), 0.14)
            _point(left, x, one.of_selection, None, None, styles[one.arm.name])
            _point(right, x, one.difference, one.total.low, one.total.high, styles[one.arm.name])
        ticks = sorted({one.n_s for one in found})
        for axes, title in ((left, "On a left-out fold"), (right, "On test, fresh seeds")):
            axes.axhline(0, color="#5b6470", linewidth=0.8)
            axes.set(title=title, xlabel="configurations trained, $N_s$", xscale="log")
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.margins(x=0.15)
        left.set_ylabel(f"optimism ({label},\npercentage points)")
        marker_legend(figure, [one.arm for one in found], styles)

    listed = "; ".join(f"{one.arm.label} {points(one.of_selection)} with {one.n_s}" for one in found)
    text = (
        "By how many percentage points the selected configuration looks better than it is. Left: where it was "
        "selected, compared with the fold left out. Right: validation compared with test and fresh seeds, 95 % CI, "
        "with the change of subjects in it."
    )
    return Plot(
        "optimism_vs_search", "Optimism of the selection by search cost", caption(results, text), listed, 2.6, draw
    )


def _point(axes: Axes, x: float, value: float | None, low: float | None, high: float | None, style: Look) -> None:
    if value is None:
        return
    error = None if low is None or high is None else [[100 * (value - low)], [100 * (high - value)]]
    line = {**style.line, "linestyle": "", "fillstyle": style.face}
    axes.errorbar(x, 100 * value, yerr=error, elinewidth=1, capsize=2, **line)
