"""The progress of a run, told to whoever shows it, and written to progress.json for those who ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from fmim.runner.schedule.study_progress import StudyProgress
from fmim_core.records import progress_path

UPDATED_EVERY_S = 2.0


@contextmanager
def kept_current(
    study: StudyProgress, out: Path, command: str | None, show: Callable[[StudyProgress, float | None], None]
) -> Iterator[None]:
    """Write progress.json and show how far a study is, every few seconds of the block, long epochs included.

    Args:
        command: goes on with the study, where there is one.
        show: takes how far it is, and the seconds that are left.
    """
    over = threading.Event()

    def write() -> None:
        with suppress(OSError):  # a full disk: this is no result, and the next record says so
            study.document(command).write(progress_path(out))

    def update() -> None:
        show(study, study.seconds_left(datetime.now(UTC)))
        write()

    def update_now_and_then() -> None:
        while not over.wait(UPDATED_EVERY_S):
            update()

    thread = threading.Thread(target=update_now_and_then, daemon=True)
    update()
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        study.running.clear()
        write()
