"""What odd inputs are drawn from: values that nobody means, and documents with a few places harmed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel

TEXTS = (
    *("", " ", "5", "0.5", "1e3", "1e999", "1_000", "٣", "0x10", "nan", "inf", "true", "no", "null", "None", "auto"),
    *("é膝", "\u202egnp", "\x1b[31mred", "a\rb", "a\0b", "\ud800", "a\nb", "_a", "[red]x[/]", "[/]", "[/red]"),
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$x$", "$\\frac$", "\\input{/etc/passwd}"),
    *("=1+1", "-2", "+x", "@x", "../../x", "/etc/passwd", "a/b", "%s{0}", "{}", "x" * 5000, "a.b", "A", "triplet"),
)
NUMBERS = (0, 1, -1, 2, 7, 10**4, 2**31, 2**63, 10**30, -(10**18), 0.5, -0.0, 1e-320, 1e308, 5.0, 1e3)
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
    {"kind": "triplet"},
)
texts, odd = st.sampled_from(TEXTS), st.sampled_from((*TEXTS, *NUMBERS, *OTHERS))

Draw = Callable[..., Any]
Container = MutableMapping[Any, Any] | MutableSequence[Any]


def places(document: Any) -> Iterator[tuple[Container, Any]]:
    """Yield every place in a document of objects and lists, by its holder and key."""
    for key in list(document) if isinstance(document, MutableMapping) else range(len(document)):
        yield document, key
        if isinstance(document[key], MutableMapping | MutableSequence):
            yield from places(document[key])


@st.composite
def harmed(draw: Draw, document: Any) -> Any:
    """Draw a copy with one or two places harmed: another value or type, lost, doubled, misspelt, one too many."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        if not (found := list(places(document))):
            return draw(odd)
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        way = draw(st.sampled_from(("other", "text", "lost", "misspelt", "one more")))
        if way == "lost":
            del holder[key]
        elif way == "text":
            holder[key] = str(holder[key])
        elif way == "misspelt" and isinstance(holder, MutableMapping):
            holder[f"{key}_"] = holder.pop(key)
        elif way == "one more" and isinstance(holder, MutableSequence):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif way == "one more":
            holder[draw(texts)] = draw(odd)
        else:
            holder[key] = draw(odd)
    return document


def says_what(given: Any, made: Any) -> bool:
    """Return whether what was made of a document says what it says, each value of the type that was given.

    A whole number may have become a float; what is made may have more fields, which have defaults.
    """
    if isinstance(given, MutableMapping) and isinstance(made, BaseModel | MutableMapping):
        fields = {str(key): value for key, value in dict(made).items()}
        fields.setdefault("schema", fields.get("schema_version"))
        return all(str(key) in fields and says_what(part, fields[str(key)]) for key, part in given.items())
    if isinstance(given, list | tuple) and isinstance(made, list | tuple):
        return len(given) == len(made) and all(map(says_what, given, made))
    if isinstance(made, bool) or isinstance(given, bool):
        return isinstance(made, bool) and given in (made, str(made).lower())
    if isinstance(made, float):
        return isinstance(given, int | float) and (made == float(given) or made != made)
    return type(given) is type(made) and bool(given == made)
