"""Inputs that nobody means (configurations, tables, documents, command lines) are accepted as given, or refused."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.stress.fuzz import command_lines, configurations, documents, tables
from tests.stress.fuzz.guard import tried
from tests.stress.outcome import Outcome

TIMES = 40
INPUTS = 250
"""In each time: 10,000 in all."""
KINDS = (configurations, tables, documents, command_lines)


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """The kinds by turns, each time with inputs of its own."""
    for time in range(times):
        kind = KINDS[time % len(KINDS)]
        yield batch(kind.__name__.rpartition(".")[2], INPUTS, f"{seed}.{time}", folder)


def batch(name: str, inputs: int, seed: str, folder: Path) -> Outcome:
    """So many inputs of a kind; its problem is the first one, and how many there were."""
    kind = next(kind for kind in KINDS if kind.__name__.endswith(f".{name}"))
    random, place = Random(seed), folder / name
    place.mkdir(exist_ok=True)
    told, problems = [], []
    for number in range(inputs):
        given = kind.drawn(random, place)
        told.append(tried(given, folder))
        if told[-1].problem:
            problems.append(f"{told[-1].problem} (input {number}: {given.what})")
    measured = {
        "inputs": float(inputs),
        "refused": float(sum(one.refused for one in told)),
        "seconds_median": statistics.median(one.seconds for one in told),
        "seconds_longest": max(one.seconds for one in told),
    }
    return Outcome(f"{name}, seed {seed}", f"{len(problems)} problems: {problems[0]}" if problems else "", measured)
