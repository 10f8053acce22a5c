"""The console that everything is printed to."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.text import Text

from fmim_core.records import without_controls


class TextConsole(Console):
    """A console for text that others wrote, such as names and paths: nothing in it is markup, or moves the cursor."""

    def say(self, text: object, lead: str = "", style: str = "") -> None:
        """Print a line, which never breaks: its lead in the style, or all of it where it has none."""
        shown = Text(without_controls(f"{lead} {text}" if lead else str(text)))
        shown.stylize(style, 0, len(lead) or None)
        self.print(shown, soft_wrap=True, highlight=False)

    def warn(self, text: object) -> None:
        """Print what to know of, though nothing ends by it."""
        self.say(text, style="yellow")

    def error(self, problem: object) -> None:
        """Print what is wrong."""
        self.say(problem, lead="error:", style="red")

    def stage(self, text: str) -> None:
        """Print what begins now, and may take seconds."""
        self.say(f"{text} …", style="dim")

    def show(self, *parts: RenderableType) -> None:
        """Print tables, and what else rich can draw, below each other; where there is no terminal no line breaks."""
        for part in parts:
            self.print(part, soft_wrap=not self.is_terminal, highlight=False)
