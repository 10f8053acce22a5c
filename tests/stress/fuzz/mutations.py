"""Values that nobody means, and small harms to documents, texts and bytes; all of it drawn from a seeded generator."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, MutableMapping, MutableSequence
from random import Random
from typing import Any

from pydantic import BaseModel

Container = MutableMapping[Any, Any] | MutableSequence[Any]

NUMBERS = (0, 1, -1, 2, 7, 10**4, 2**31, 2**63, 10**30, -(10**18), 0.5, -0.0, 1e-320, 1e308, 5.0, 1e3)
TEXTS = (
    *("", " ", "5", "0.5", "1e3", "1e999", "1_000", "٣", "0x10", "nan", "inf", "true", "no", "null", "None", "auto"),
    *("é膝", "\u202egnp", "\x1b[31mred", "a\rb", "a\0b", "\ud800", "a\nb", "_a", "[red]x[/]", "[/]", "[/red]"),
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$x$", "$\\frac$", "\\input{/etc/passwd}"),
    *("=1+1", "-2", "+x", "@x", "../../x", "/etc/passwd", "a/b", "%s{0}", "{}", "x" * 5000, "a.b", "A", "triplet"),
)
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    math.nan,
    math.inf,
    -math.inf,
    [],
    {},
    [1],
    [[[]]],
    ["a", 1],
    {"a": 1},
    {"kind": "triplet"},
)
NESTED: list[Any] = []
for _ in range(300):
    NESTED = [NESTED]


def value(random: Random) -> Any:
    """Any of them."""
    return copy.deepcopy(random.choice(random.choice((NUMBERS, TEXTS, OTHERS, (NESTED,)))))


def places(document: Any) -> Iterator[tuple[Container, Any]]:
    """Every place of a document, as what holds it and its key or number there."""
    keys = list(document) if isinstance(document, MutableMapping) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], MutableMapping | MutableSequence):
            yield from places(document[key])


def harmed(document: Any, random: Random, most: int = 2) -> Any:
    """A copy with one or a few places harmed: another value or type, lost, doubled, misspelt, one too many."""
    document = copy.deepcopy(document)
    for _ in range(random.randint(1, most)):
        found = list(places(document))
        if not found:
            return value(random)
        harm(*random.choice(found), random)
    return document


def harm(holder: Container, key: Any, random: Random) -> None:
    """Harm what a document holds in one place."""
    what = random.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = retyped(holder[key])
    elif what == 2 and isinstance(holder, MutableMapping):
        holder[misspelt(str(key), random)] = holder.pop(key)
    elif what == 3 and isinstance(holder, MutableMapping):
        holder[random.choice(TEXTS)] = value(random)
    elif what == 4 and isinstance(holder, MutableSequence):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[key] = value(random)


def retyped(given: Any) -> Any:
    """The same in another type, as careless programs write it."""
    if isinstance(given, bool):
        return int(given)
    if isinstance(given, int | float):
        return str(given) if given != given or given % 2 else [given]
    if isinstance(given, str):
        return given.encode().hex() if len(given) % 2 else [given]
    return {"a": given} if isinstance(given, list) else str(given)


def misspelt(text: str, random: Random) -> str:
    """A letter lost, doubled or in the other case."""
    if not text:
        return "x"
    at = random.randrange(len(text))
    return text[:at] + random.choice(("", text[at] * 2, text[at].swapcase(), "_")) + text[at + 1 :]


def damaged(content: bytes, random: Random) -> bytes:
    """Bytes with some flipped, lost, doubled or put in."""
    for _ in range(random.randint(1, 3)):
        at, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
        what = random.randrange(5)
        if what == 0:
            content = content[:at]
        elif what == 1:
            content = content[:at] + content[end:]
        elif what == 2:
            content = content[:end] + content[at:]
        elif what == 3:
            content = content[:at] + random.randbytes(random.randint(1, 8)) + content[at:]
        else:
            content = content[:at] + bytes((random.randrange(256),)) + content[at + 1 :]
    return content


def same_types(given: Any, made: Any) -> bool:
    """Whether what was made of a document says what it says, each value of the type that was given.

    A whole number may have become a float; what is made may have more fields, which have defaults.
    """
    if isinstance(given, MutableMapping) and isinstance(made, BaseModel):
        made = dict(made)
    if isinstance(given, MutableMapping) and isinstance(made, MutableMapping):
        made = {"schema": made.get("schema_version"), **made}
        lower = {str(key): value for key, value in made.items()}
        return all(str(key) in lower and same_types(part, lower[str(key)]) for key, part in given.items())
    if isinstance(given, list | tuple) and isinstance(made, list | tuple):
        return len(given) == len(made) and all(map(same_types, given, made))
    if isinstance(made, bool) or isinstance(given, bool):
        return isinstance(made, bool) and given in (made, str(made).lower())
    if isinstance(made, float):
        return isinstance(given, int | float) and (made == float(given) or made != made)
    return type(given) is type(made) and given == made
