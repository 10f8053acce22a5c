"""The elements of a page, as a browser would find them."""

from __future__ import annotations

from html.parser import HTMLParser


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def elements(text: str) -> list[tuple[str, dict[str, str]]]:
    """Each element of HTML in its order: its tag and its attributes."""
    parser = _Elements()
    parser.feed(text)
    return parser.found
