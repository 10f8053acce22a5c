"""The frame `arms`: what each arm is, and the configuration that was selected for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmim_core.metric_names import Interval
from fmim_core.records import ArmEntry
from fmim_reports.frames.frame import Frame
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.writing.data_columns import DataColumn, configuration_columns, of_configuration

_BEGIN = (
    DataColumn("arm", "string", "the arm's name, as in the other frames"),
    DataColumn("label", "string", "what it is called in reports"),
    DataColumn("loss", "string", "its loss"),
    DataColumn("group", "string", "what it shares with the arms beside it: its loss, or its backbone"),
    DataColumn("search", "string", "how its values are set"),
    DataColumn("n_s_planned", "int64", "configurations that its search may train"),
    DataColumn("n_s", "int64", "distinct configurations that its search has trained"),
    DataColumn("replicates_planned", "int64", "fresh seeds of its selected configuration"),
    DataColumn("replicates", "int64", "those that completed"),
    DataColumn("selected", "boolean", "whether its configuration is fixed, which the next columns have"),
)


def _columns(arms: Sequence[ArmEntry], interval: Interval) -> list[DataColumn]:
    return [*_BEGIN, *configuration_columns(arms)]


def _rows(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "arm": arm.name,
            "label": arm.label,
            "loss": arm.loss,
            "group": arm.group,
            "search": arm.search,
            "n_s_planned": arm.planned_n_s,
            "n_s": arm.cost.n_s,
            "replicates_planned": arm.test.of,
            "replicates": arm.test.stat.n,
            "selected": arm.configuration is not None,
            **of_configuration(arm.configuration),
        }
        for arm in arm_summaries(results)
    ]


ARMS = Frame("arms", "an arm", _columns, _rows)
