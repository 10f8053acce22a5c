"""Where banks lie, and building one with its progress on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import MofNCompleteColumn
from rich.progress import Progress as Bar

from fmim.printing.console import TextConsole
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.source import Source
from fmim_core.records import in_terminal


def bank_of(source: Source, size: int, root: Path, console: TextConsole) -> tuple[Bank, bool]:
    """`build_bank`, which see, with a bar while it decodes; also whether it had to."""
    with progress_bar(f"decoding {source.description.name}", console) as bar:
        return build_bank(source, size, root, bar, console.warn), bar.shown


class ProgressBar:
    """Shows itself once there is progress, where the console is a terminal."""

    def __init__(self, what: str, bar: Bar) -> None:
        self._bar, self._task = bar, bar.add_task(in_terminal(what), visible=False)
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        """`bank.Progress`."""
        self.shown = True
        self._bar.update(self._task, completed=done, total=total, visible=True)


@contextmanager
def progress_bar(what: str, console: TextConsole) -> Iterator[ProgressBar]:
    """A progress bar for the block."""
    columns = (*Bar.get_default_columns(), MofNCompleteColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield ProgressBar(what, bar)
