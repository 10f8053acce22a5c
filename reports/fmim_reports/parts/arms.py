"""Tables of every arm on the test set, and of every configuration on validation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Any

from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import ArmEntry
from fmim_reports.parts.comparisons.words import ratio_text
from fmim_reports.reading import published
from fmim_reports.reading.cost import compared_with, search_cost
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import (
    ArmSummary,
    arm_summaries,
    on_reference,
    on_test,
    on_validation,
    pooled_over_queries,
)
from fmim_reports.stats import PairedDifference, paired_difference
from fmim_reports.writing.captions import caption, chosen_word, collapsed_note, references_note, test_models
from fmim_reports.writing.columns import ARM, configuration_column, folded, reference_rows, under
from fmim_reports.writing.formats import listed, points
from fmim_reports.writing.sections import Section, a_search_stage, in_every_study
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.ANSWER)
def answer_table(results: Results) -> Table:
    """Return what each arm's search cost and what its selected configuration scores on the test set."""
    pairs, rows = compared_with(results).items(), []
    against = {a: b for a, b in pairs if results.arm(a).group == results.arm(b).group}
    for arm in arm_summaries(results):
        row = {"arm": arm, "n_s": arm.cost.n_s, "epochs": arm.cost.epochs, "test": arm.test}
        if arm.cost.epochs and (theirs := search_cost(results, against.get(arm.name, "")).epochs):
            row["relative"] = ratio_text(Fraction(arm.cost.epochs, theirs)).removesuffix(" times")
        rows.append(row)
    related = any("relative" in row for row in rows)
    costs = under("Search", "count", n_s="N_s", epochs="Epochs") if results.searched else []
    text = f"Each arm's {chosen_word(results)} configuration on the test set."
    text += " N_s: configurations that the search trained." * bool(costs)
    if related:
        costs.append(Column("relative", "Relative", "listing", "Search"))
        text += " Relative: its epochs divided by those of the arm that its group is compared with."
    metric = results.metric
    columns = [ARM, Column("test", f"{metric.label}, %", "estimate", "Test, mean ± SE", metric=metric), *costs]
    return Table("arms", "Arms", caption(results, text), columns, rows)


@in_every_study(Section.TABLES)
def arms_table(results: Results) -> Table:
    """Return every arm: what its search trained and selected, and its metrics on validation and on the test set."""
    return _arms(results, lambda arm, metric: None)


def arms_beside_published(results: Results) -> Table:
    """Return the same with the published values of the paper's Tables 1b and 1c."""
    return _arms(results, published.ablation_value)


def _arms(results: Results, paper: Callable[[ArmEntry, str], float | None]) -> Table:
    rows: list[dict[str, Any]] = [
        {"arm": arm, "n_s": arm.cost.n_s, "configuration": arm.configuration}
        | {name: on_test(results, arm.name, name) for name in METRICS}
        | {f"validation_{name}": on_validation(results, arm.name, arm.configuration, name) for name in METRICS}
        | {f"published_{name}_percent": paper(results.arm(arm.name), name) for name in METRICS}
        for arm in arm_summaries(results)
    ]
    printed = {name for name in METRICS for row in rows if row[f"published_{name}_percent"] is not None}
    rows += reference_rows(results, lambda one: {name: on_reference(results, one, name) for name in METRICS})
    first, chosen = results.metric, chosen_word(results)
    columns = [
        ARM,
        *_metric_columns(results, first, printed)[:2],
        *under("", "count", **({"n_s": "N_s"} if results.searched else {})),
        configuration_column(results, chosen.capitalize()),
        *_metric_columns(results, first, printed)[2:],
        *(
            column
            for metric in METRICS.values()
            if metric != first
            for column in folded(*_metric_columns(results, metric, printed))
        ),
    ]
    text = (
        f"Each arm's {chosen} configuration, trained with fresh seeds for the test set ({test_models(results)})."
        + " N_s: the configurations that its search trained." * results.searched
    )
    how = f"Values {published.LABEL} are in %, on the paper's images. {published.CMC_NOTE}" if printed else ""
    notes = [references_note(results), collapsed_note(results)]
    return Table(
        "test_metrics", "Selected configurations and all metrics", caption(results, text), columns, rows, notes, how=how
    )


def _metric_columns(results: Results, metric: Metric, printed: Collection[str]) -> list[Column]:
    """Return a metric on the test set; on validation if it selects or is `printed`; and as published."""
    name, group, beside = metric.name, f"{metric.label}, %", metric.name in printed
    validated = results.searched and (beside or metric == results.metric)
    return [
        Column(name, "Test", "estimate", group, "test_n", metric=metric),
        *[Column(f"validation_{name}", "Validation", "estimate", group, "validation_n", metric=metric)] * validated,
        *[Column(f"published_{name}_percent", "Published", "published", group, metric=metric)] * beside,
    ]


def leads(results: Results) -> list[tuple[ArmSummary, PairedDifference]]:
    """Return each arm with its selected configuration minus the second one on validation, paired by fold."""
    found, sign = [], 1 if results.metric.higher_is_better else -1
    for arm in arm_summaries(results):
        others = [one for one in results.arm(arm.name).configurations if one != arm.configuration]
        scores = [on_validation(results, arm.name, one, results.metric.name) for one in others]
        second = max((one for one in scores if one.complete), key=lambda one: sign * one.stat.mean, default=None)
        if second is not None and arm.validation.complete:
            found.append((arm, paired_difference(arm.validation.values, second.values)))
    return found


def leads_caution(results: Results) -> list[str]:
    """Name the arms whose selected configuration leads the second one by no more than noise."""
    within = [(arm, lead) for arm, lead in leads(results) if lead.low is None or lead.low <= 0 <= (lead.high or 0.0)]
    arms = listed(f"{arm.label} ({points(lead.difference, 1)} points)" for arm, lead in within)
    why = "Luck may have decided the selection: the lead over the second configuration is within noise (95 % CI, folds)"
    return [f"{why} for {arms}."] if within else []


@in_every_study(Section.MORE, a_search_stage)
def configurations_table(results: Results) -> Table:
    """Return every configuration of every arm on validation: mean of folds, and pooled over queries."""
    metric, rows = results.metric, []
    for arm in results.arms:
        chosen = results.selected(arm.name)
        for configuration in arm.configurations:
            stopped = [t.reason for t in results.of(arm.name, "search", configuration) if t.status == "stopped"]
            rows.append(
                {"arm": arm, "configuration": configuration}
                | {f"validation_{metric.name}": on_validation(results, arm.name, configuration, metric.name)}
                | {"pooled": pooled_over_queries(results, arm.name, configuration)}
                | {"selected": "selected" if configuration == chosen else next(iter(stopped), "")}
            )
    group = f"Validation {metric.label}, %"
    columns = [
        ARM,
        configuration_column(results),
        Column(f"validation_{metric.name}", "Mean of folds ± SE", "estimate", group, "validation_n", metric=metric),
        Column("pooled", "Pooled over queries", "percent", group, metric=metric),
        Column("selected", "Selected or stopped"),
    ]
    text = (
        f"Validation {metric.label} of every configuration. Selection uses the mean of folds, in which each fold "
        "counts once; pooled, each query counts once. Folds share training subjects, so their SE understates the "
        "uncertainty."
    )
    return Table("configurations", "Every configuration", caption(results, text), columns, rows)
