"""Pieces of Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what stands in a cell is Markdown of one line."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def code(text: object) -> str:
    """As code, or nothing where there is nothing."""
    return f"`{text}`" if str(text) else ""


def page(title: str, *parts: str) -> str:
    """A page of these parts, a blank line between two."""
    return "\n\n".join([f"# {title}", *filter(None, parts)]) + "\n"


def documented(path: str, **options: object) -> str:
    """What the docstrings say of a Python object, by its dotted path."""
    lines = [f"::: {path}", *(["    options:"] if options else [])]
    return "\n".join([*lines, *(f"      {name}: {json.dumps(value)}" for name, value in options.items())])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
