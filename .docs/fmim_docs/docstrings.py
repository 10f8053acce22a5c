"""What griffe cannot see by itself: the fields of configurations as parameters, and this project's lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

CONFIGURATION = "fmim_core.config.Config"
_SECTIONS = ("Args:", "Attributes:")


class Docstrings(griffe.Extension):
    """Makes signatures of configurations and sections of docstrings as the Google style has them."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """After a package is read: its classes with their methods, and its functions."""
        for one in _within(pkg):
            if isinstance(one, griffe.Class):
                _add_parameters(one)
            if one.docstring is not None:
                one.docstring.value = in_sections(one.docstring.value, _names(one), isinstance(one, griffe.Class))


def _within(place: griffe.Module | griffe.Class) -> Iterator[griffe.Class | griffe.Function]:
    for member in list(place.members.values()):
        if isinstance(member, griffe.Module | griffe.Class):
            yield from _within(member)
        if isinstance(member, griffe.Class | griffe.Function):
            yield member


def _names(one: griffe.Class | griffe.Function) -> set[str]:
    parameters = {parameter.name for parameter in one.parameters}
    return parameters | set(one.all_members) if isinstance(one, griffe.Class) else parameters


def _add_parameters(cls: griffe.Class) -> None:
    """pydantic makes `__init__` when Python runs: its parameters are the fields, those of the bases first."""
    bases = [cls, *cls.mro()]
    if "__init__" in cls.members or CONFIGURATION not in {base.path for base in bases}:
        return
    fields = {name: field for base in reversed(bases) for name, field in _fields(base)}
    parameters = [
        griffe.Parameter(name, annotation=field.annotation, kind=griffe.ParameterKind.keyword_only, default=default)
        for name, (field, default) in fields.items()
    ]
    this = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    cls.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(this, *parameters)))


def _fields(cls: griffe.Class) -> Iterator[tuple[str, tuple[griffe.Attribute, Any]]]:
    for name, member in cls.members.items():
        of_instances = isinstance(member, griffe.Attribute) and "instance-attribute" in member.labels
        if isinstance(member, griffe.Attribute) and of_instances and member.annotation and not name.startswith("_"):
            yield name, (member, _default(member.value))


def _default(value: Any) -> Any:
    """The first argument of `Field(…)`, if it has one without a name."""
    if not (isinstance(value, griffe.ExprCall) and str(value.function) == "Field"):
        return value
    given = [argument for argument in value.arguments if not isinstance(argument, griffe.ExprKeyword)]
    return given[0] if given else None


def in_sections(text: str, names: set[str], attributes: bool) -> str:
    """A docstring whose lists of `name: what it is` are sections with one name an item.

    Docstrings here may say `a, b: what both are`, put short items on one line, and leave `Attributes:` out.

    Args:
        names: those that are known: fields, or parameters.
        attributes: whether a paragraph of such items without a heading is one of attributes.
    """
    return "\n\n".join(_section(paragraph, names, attributes) for paragraph in re.split(r"\n\s*\n", text))


def _section(paragraph: str, names: set[str], attributes: bool) -> str:
    heading, _, rest = paragraph.partition("\n")
    if heading not in _SECTIONS:
        heading, rest = "Attributes:", paragraph
        if not attributes:
            return paragraph
    starts = [
        found
        for found in re.finditer(r"(?:^ *|(?<=\. ))(\w+(?:, \w+)*): ", rest, re.MULTILINE)
        if names.issuperset(found[1].split(", "))
    ]
    if not starts or starts[0].start() > 0:
        return paragraph
    ends = [*(found.start() for found in starts[1:]), len(rest)]
    items = [
        f"    {name}: {' '.join(rest[found.end() : end].split())}"
        for found, end in zip(starts, ends, strict=True)
        for name in found[1].split(", ")
    ]
    return "\n".join([heading, *items])
