"""The report of `automargin_ablation`: what one setting of AutoMargin changes, paired by seed with the baseline."""

from __future__ import annotations

from fmim_reports.parts.comparisons.comparison import comparisons, different_tasks_note
from fmim_reports.parts.comparisons.difference import family_note
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, completed, on_test
from fmim_reports.stats import mean_se
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import configuration_text
from fmim_reports.writing.tables import Column, Table


def ablation_table(results: Results) -> Table:
    """Return every arm on the test set and its difference to the baseline."""
    listed = comparisons(results)
    found = {one.a.name: one for one in listed}
    rows = []
    for arm in arm_summaries(results):
        chance = mean_se(completed(results.of(arm.name, "replicate"), "chance_mAP"))
        row = {
            "arm": arm,
            "change": arm.search,
            "test_mAP": on_test(results, arm.name, "mAP"),
            "test_CMC_1": on_test(results, arm.name, "CMC_1"),
            "chance_mAP": chance.mean if chance.n else None,
        }
        rows.append(row | ({"n": one.paired.n} | one.cells if (one := found.get(arm.name)) else {}))
    group = "Test, %, mean ± SE over seeds"
    interval = f"{results.metric.label} − baseline, percentage points, paired by seed"
    columns = [
        Column("change", "What is changed"),
        Column("test_mAP", "mAP", "estimate", group, "test_n"),
        Column("test_CMC_1", "CMC top-1, first hit", "estimate", group, "test_n"),
        Column("chance_mAP", "mAP", "percent", "Chance, %"),
        Column("n", "Pairs", "count", interval),
        *under(interval, "points", difference="Difference", low="95 % CI, low", high="high"),
        Column("over", "over", "text", interval),
        Column("p_holm", "p (Holm)", "p", interval),
    ]
    text = (
        "AdaTriplet with AutoMargin, one setting changed at a time; the first row is the baseline. Intervals are "
        "each by itself, not corrected for their number; p values are corrected by Holm over the arms that are scored "
        f"on the baseline's task. Nothing was searched (N_s = 1): all arms use {_configuration(results)}."
    )
    missing = [f"“{one.a.search}”: {one.note}." for one in listed if one.note]
    notes = [different_tasks_note(listed), family_note(listed), *missing]
    return Table("settings", "What each setting changes", caption(results, text), columns, rows, notes, also=[ARM])


def _configuration(results: Results) -> str:
    return " or ".join(dict.fromkeys(configuration_text(c) for arm in results.arms for c in arm.configurations))


CONTENTS = Contents(
    tables=(ablation_table,),
    every_value=lambda results: every_value_table(results, {arm.name: arm.search for arm in results.arms}),
)
