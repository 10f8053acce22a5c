"""One thing that was tried in a stress scenario, and how it went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """A harm done to the program, whether all that must hold did hold, and what was measured meanwhile.

    `problem` says what did not hold; it is empty where all did. `measured` has numbers with their unit in the name
    (`seconds_to_first_epoch`), for the summary's minimum, median and maximum.
    """

    what: str
    problem: str = ""
    measured: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Say if all that must hold did hold."""
        return not self.problem

    def to_json(self) -> dict[str, Any]:
        """As in the report's file."""
        return asdict(self) | {"ok": self.ok}
