"""The folder of a study whose first arm's replicates are trained, without its search, tracker and report."""

from __future__ import annotations

from pathlib import Path

from fmim.plan import Plan
from fmim.runner.folder.study_file import write_study
from fmim.runner.search.selection import given
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Execution, FixedSelection, Record, SelectionFile, now
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import first_replicates

ARM = "adatriplet_automargin"


def trained(out: Path, plan: Plan, bank: Bank) -> list[Record]:
    """Write study.json, selection.json, and the records, queries and weights of the replicates."""
    execution = Execution(started_at=now(), slots=1, backend="inline", device="cpu", tracking_uri="")
    write_study(out, plan, bank, [], execution)
    selection = given(next(plan.arms[0].space.configurations()), plan.study.metric)
    SelectionFile(arms={ARM: FixedSelection(**dict(selection), selected_at=now())}).write(out / "selection.json")
    return [Trial(spec, RunSettings(out, "cpu")).run() for spec in first_replicates(plan, bank)]
