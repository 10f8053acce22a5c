"""How validation mAP rises during the training of the arms that a study compares, and whether it still does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmim_core.metric_names import METRICS
from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import draw_line, mean_points
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.drawing.styles import ArmStyle, arm_styles, panels, shared_legend
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries
from fmim_reports.stats import mean_se
from fmim_reports.writing.captions import caption
from fmim_reports.writing.formats import in_percent, points
from fmim_reports.writing.sections import Section, a_search_stage, declared_comparisons, in_every_study

METRIC = METRICS["mAP"]


@dataclass(frozen=True)
class LearningCurve:
    """An arm's validation mAP at each validated epoch, by fold, at its selected configuration."""

    arm: ArmSummary
    values: Mapping[int, Mapping[int, float]]

    @property
    def extent(self) -> Extent:
        """In percent; an arm is judged by where its curve ends."""
        stats = [mean_se(self.values[epoch]) for epoch in sorted(self.values)]
        whole = Extent.over([100 * stat.mean for stat in stats], [100 * (stat.se or 0.0) for stat in stats])
        return replace(whole, value=100 * stats[-1].mean)

    @property
    def last_gain(self) -> tuple[int, int, float] | None:
        """The last two validated epochs and the mean gain between them; None with fewer."""
        if len(self.values) < 2:
            return None
        before, end = sorted(self.values)[-2:]
        folds = self.values[before].keys() & self.values[end].keys()
        return before, end, mean_se({fold: self.values[end][fold] - self.values[before][fold] for fold in folds}).mean


def learning_curves(results: Results) -> dict[str, LearningCurve]:
    """Of every arm that a declared comparison names, by its name."""
    compared = {name for pair in results.comparisons for name in pair}
    found = {}
    for arm in arm_summaries(results):
        if arm.name not in compared or arm.configuration is None:
            continue
        values: dict[int, dict[int, float]] = {}
        for trial in results.of(arm.name, "search", arm.configuration):
            for row in trial.record.history if trial.record and trial.status == "completed" else ():
                if row.validation_mAP is not None:
                    values.setdefault(row.epoch, {})[trial.replicate] = row.validation_mAP
        if values:
            found[arm.name] = LearningCurve(arm, values)
    return found


@in_every_study(Section.FIGURES, declared_comparisons, a_search_stage)
def learning_curves_plot(results: Results) -> Plot:
    """Validation mAP over the epochs, one panel per group of arms."""
    curves, styles = learning_curves(results), arm_styles(results)
    if not curves:
        raise NothingToDraw("no compared arm has a selected configuration with a completed fold yet")
    drawn = panels([curve.arm for curve in curves.values()])
    scale = scale_of({name: curve.extent for name, curve in curves.items()})

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for (title, members), axes in zip(drawn.items(), row, strict=True):
            for arm in (one for one in members if one.name not in scale.beyond):
                style = styles[arm.name]
                frame = mean_points(curves[arm.name].values, scale=100)
                draw_line(axes, frame, label=style.label, markersize=3, **style.line)
            axes.set(title=title, xlabel="epoch", ylabel="")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        row[0].set_ylabel(f"validation {METRIC.label} (%)")
        scale_y({axes: _marks(curves, m, styles) for m, axes in zip(drawn.values(), row, strict=True)}, scale)
        shared_legend(figure, row)

    text = (
        f"Validation {METRIC.label} during training of the selected configuration, mean over folds, band ± SE. A curve "
        "that still rises at its end has not been trained to its end, and its arm may rank otherwise after more epochs."
    )
    text += scale.note
    alt = "; ".join(f"{curve.arm.label} {_ends(curve)}" for curve in curves.values())
    return Plot("learning_curves", "Learning curves of the compared arms", caption(results, text), alt, 2.8, draw)


def _marks(
    curves: Mapping[str, LearningCurve], arms: Sequence[ArmSummary], styles: Mapping[str, ArmStyle]
) -> list[Mark]:
    """Each arm at its first epoch, with its values from the lowest to the highest, were it off the scale."""
    means = {arm.name: {epoch: mean_se(v).mean for epoch, v in curves[arm.name].values.items()} for arm in arms}
    return [
        Mark(name, min(by_epoch), range_text([100 * value for value in by_epoch.values()]), styles[name].line)
        for name, by_epoch in means.items()
    ]


def _ends(curve: LearningCurve) -> str:
    epochs = sorted(curve.values)
    first, last = (in_percent(mean_se(curve.values[epoch]).mean, 1) for epoch in (epochs[0], epochs[-1]))
    return f"from {first} % at epoch {epochs[0]} to {last} % at epoch {epochs[-1]}"


def trailing_cautions(results: Results) -> list[str]:
    """Where an arm whose margins change during training trails: how much both still gained at the end."""
    curves, found = learning_curves(results), []
    tests = {arm.name: arm.test.stat.mean for arm in arm_summaries(results)}
    sign = 1 if results.metric.higher_is_better else -1
    for name, other in results.comparisons:
        if not results.arm(name).margins_vary or not sign * tests[name] < sign * tests[other]:
            continue
        gains = [curves[one].last_gain if one in curves else None for one in (name, other)]
        if gains[0] is None or gains[1] is None:
            continue
        before, end, gained = gains[0]
        found.append(
            f"{results.arm(name).label} scores lower than {results.arm(other).label}. Its margins follow training, so "
            f"that a short one may not tell: from epoch {before} to {end}, the last, validation {METRIC.label} of the "
            f"two still changed by {points(gained)} and {points(gains[1][2])} percentage points (figure “Learning "
            "curves of the compared arms”)."
        )
    return found
