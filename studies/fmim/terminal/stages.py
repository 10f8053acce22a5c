"""What the program does before trials run, said at once: some of it takes seconds."""

from __future__ import annotations

from rich.console import Console

from fmim_core.records import in_terminal


def say(stage: str, console: Console | None = None) -> None:
    """Say what begins now, e.g. `starting Ray …`; on standard error where no console is given."""
    (console or Console(stderr=True)).print(f"[dim]{in_terminal(stage)} …[/]", highlight=False, soft_wrap=True)
