"""The frame `arms`: what each arm is, and the configuration that was selected for it."""

from __future__ import annotations

from operator import attrgetter

from fmim_reports.frames.frame import Frame
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.writing.data_columns import DataColumn, configuration_columns

_BEGIN = (
    DataColumn("arm", "string", "the arm's name, as in the other frames", of=attrgetter("name")),
    DataColumn("label", "string", "what it is called in reports", of=attrgetter("label")),
    DataColumn("loss", "string", "its loss", of=attrgetter("loss")),
    DataColumn(
        "group", "string", "what it shares with the arms beside it: its loss, or its backbone", of=attrgetter("group")
    ),
    DataColumn("search", "string", "how its values are set", of=attrgetter("search")),
    DataColumn("n_s_planned", "int64", "configurations that its search may train", of=attrgetter("planned_n_s")),
    DataColumn("n_s", "int64", "distinct configurations that its search has trained", of=attrgetter("cost.n_s")),
    DataColumn("replicates_planned", "int64", "fresh seeds of its selected configuration", of=attrgetter("test.of")),
    DataColumn("replicates", "int64", "those that completed", of=attrgetter("test.stat.n")),
    DataColumn(
        "selected",
        "boolean",
        "whether its configuration is fixed, which the next columns have",
        of=lambda arm: arm.configuration is not None,
    ),
)

ARMS = Frame("arms", "an arm", lambda arms, interval: [*_BEGIN, *configuration_columns(arms)], arm_summaries)
