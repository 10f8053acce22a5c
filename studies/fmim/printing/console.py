"""The console that everything is printed to."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.text import Text

from fmim_core.records import without_controls


class TextConsole(Console):
    """A console for text that others wrote, such as names and paths: nothing in it is markup, or moves the cursor.

    On a terminal lines break between words, and a long word, such as a path, stays whole. Elsewhere no line breaks.
    """

    def say(self, text: object, lead: str = "", style: str = "") -> None:
        """Print a line: its lead in the style, or all of it where it has none."""
        line = f"{lead} {text}" if lead else str(text)
        shown = Text(without_controls(line), overflow="ignore")
        shown.stylize(style, 0, len(lead) or None)
        self.show(shown)

    def warn(self, text: object) -> None:
        """Print what to know of, though nothing ends by it."""
        self.say(text, style="yellow")

    def stage(self, text: str) -> None:
        """Print what begins now, and may take seconds."""
        self.say(f"{text} …", style="dim")

    def show(self, *parts: RenderableType) -> None:
        """Print tables, and what else rich can draw, below each other."""
        for part in parts:
            self.print(part, soft_wrap=not self.is_terminal, highlight=False)
