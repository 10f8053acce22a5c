"""`fmim mirror`: bring MLflow up to date from the records of a study that nobody runs now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fmim.runner.folder.locks import locked
from fmim.runner.folder.study_folder import check_folder
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import STATUS_OF_STUDY, Identity
from fmim.runner.tracking.tracker import Tracker
from fmim_core.records import Damaged, StudyFile, read_records


def mirror_study(out: Path, study: StudyFile, address: TrackingAddress, tell: Callable[[str], None]) -> bool:
    """Write to MLflow what it has not got of a study; return whether all of it is there now.

    Args:
        tell: takes what was done, and what is wrong.

    Raises:
        ValueError: somebody runs in the folder, or it holds what no study writes.
    """
    check_folder(out, study.study, mirror=address.files_in(out.absolute()))

    def leave_out(path: Path, damaged: Damaged) -> None:
        tell(f"{damaged}: left out; the next start sets it aside, and runs its trial again")

    with locked(out) as unlocked:
        if unlocked:
            tell(unlocked)
        last = study.executions[-1]
        tracker = Tracker(address, Identity.of(study), lambda: read_records(out, leave_out), tell)
        whole = tracker.close(STATUS_OF_STUDY[last.exit_code], out, last.ended_at)
    done = tracker.caught_up
    if whole:
        tell(
            f"mirrored to {address}: {done['created']} trials created, {done['updated']} updated, "
            f"{done['unchanged']} unchanged, {done['killed']} left running closed as KILLED"
        )
    return whole
