"""Things noticed about a data set: each kind of problem once, with every place where it was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
MAX_SHOWN = 5  # places named of each finding in a message; `fmim data check --csv` names all


@dataclass(frozen=True)
class Finding:
    """One kind of problem and the places (files, lines, subjects) that have it.

    severity: an `error` keeps the data set from being used; a `warning` costs images or queries, or asks for a
    look; a `note` says what a rule did.
    """

    severity: Severity
    what: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.places) - MAX_SHOWN} more" if len(self.places) > MAX_SHOWN else ""
        return f"{self.what} ({len(self.places)}): {', '.join(self.places[:MAX_SHOWN])}{more}"


class Findings:
    """A collection of findings, to tell them at once."""

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._found = list(found)

    def error(self, what: str, places: Iterable[str]) -> None:
        """Add a problem that keeps the data set from being used; nothing where there are no places."""
        self._add("error", what, places)

    def warning(self, what: str, places: Iterable[str]) -> None:
        """Add a problem that the data set can be used with."""
        self._add("warning", what, places)

    def note(self, what: str, places: Iterable[str]) -> None:
        """Add a thing that a rule did and a reader should know of."""
        self._add("note", what, places)

    def _add(self, severity: Severity, what: str, places: Iterable[str]) -> None:
        if places := tuple(places):
            self._found.append(Finding(severity, what, places))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    @property
    def errors(self) -> list[Finding]:
        """Return those that keep the data set from being used."""
        return [finding for finding in self._found if finding.severity == "error"]

    def refuse_errors(self, origin: object) -> None:
        """Raise a `ValueError` that lists every error found in `origin`, if there is one."""
        if errors := self.errors:
            raise ValueError("\n  ".join([f"{origin} cannot be used:", *map(str, errors)]))


def shortened(cell: str) -> str:
    """Return a cell for a message, at most 60 characters of it."""
    return cell if len(cell) <= 60 else f"{cell[:59]}…"
