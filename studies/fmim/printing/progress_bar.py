"""A progress bar for what takes long before, or beside, a study."""

from __future__ import annotations

from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress

from fmim.printing.console import TextConsole
from fmim_core.records import without_controls


class ProgressBar:
    """Shows itself from the first progress until all is done or the block ends, where the console is a terminal.

    called: whether there was any progress.
    """

    def __init__(self, what: str, console: TextConsole) -> None:
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(escape(without_controls(what)))
        self.called, self._drawn = False, False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._drawn:
            self._bar.stop()
            self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done."""
        if not self._drawn:
            self._bar.start()
        self.called = self._drawn = True
        self._bar.update(self._task, completed=done, total=total)
        if done >= total:
            self.__exit__()
