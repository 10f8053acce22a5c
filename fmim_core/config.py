"""The bases of configurations and documents, checked when they are made; what is wrong with one is said in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, core_schema

from fmim_core.suggestions import did_you_mean


def _exact(schema: Any) -> Any:
    """Return the schema with every number and truth value in it strict; the keys of JSON's objects are text."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_exact, schema))
    if not isinstance(schema, dict):
        return schema
    within = {key: part if key in ("keys_schema", "default") else _exact(part) for key, part in schema.items()}
    if schema.get("type") == "bool":
        return core_schema.no_info_before_validator_function(_truth_value, cast(CoreSchema, within | {"strict": True}))
    return within | {"strict": True} if schema.get("type") in ("int", "float") else within


def _truth_value(given: Any) -> Any:
    """Return the values that the words true and false, as a command line gives them, stand for."""
    return {"true": True, "false": False}.get(given, given) if isinstance(given, str) else given


class StrictModel(BaseModel):
    """A model in which a value has the type of its field: a number is no text, no truth value, and whole where it must
    be; pydantic would turn "5", true and 5.0 into 5. A whole number may stand for a float, and a list for a tuple.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        return _exact(handler(source))


class Config(StrictModel):
    """A frozen, hashable, picklable configuration; unknown keys and values out of range raise when it is made.

    Raises:
        pydantic.ValidationError: a `ValueError` that names the field, the value given and what is allowed; `in_words`
            says it in plain words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, ser_json_inf_nan="constants")

    @model_validator(mode="before")
    @classmethod
    def _fields_are_known(cls, given: Any) -> Any:
        """Refuse unknown fields, as `extra="forbid"` does, and say what there is."""
        known = cls.model_fields
        for name in given if isinstance(given, Mapping) else ():
            if name not in known:
                raise UnknownField(str(name), cls.__name__, known)
        return given


class UnknownField(ValueError):
    """A configuration was given a field that it does not have."""

    def __init__(self, field: str, owner: str, known: Iterable[str]) -> None:
        self.field = field
        super().__init__(f"unknown field {field!r}; {owner} has {', '.join(known)}{did_you_mean(field, known)}")


def in_words(error: ValidationError, most: int = 3) -> str:
    """Return what a validation found wrong: each field by its dotted name, what is allowed, and the value given."""
    found = error.errors(include_url=False)
    said = [": ".join(filter(None, (".".join(map(str, one["loc"])), _problem(one)))) for one in found[:most]]
    return "; ".join(said) + (f"; and {len(found) - most} more" if len(found) > most else "")


class InvalidConfig(ValueError):
    """A validation's failure in plain words.

    Args:
        noun, name: whose configuration it is, e.g. "arm" and "triplet_grid".

    Attributes:
        field: the first field that is wrong, dotted; blank where it is the whole.
        problem: what is wrong.
    """

    def __init__(self, noun: str, name: str, error: ValidationError) -> None:
        self.name, self.field, self.problem = name, wrong_field(error), in_words(error)
        super().__init__(f"{noun} {name!r}: {self.problem}")


def wrong_field(error: ValidationError) -> str:
    """Return the first field that pydantic found wrong, dotted; blank where it is the whole."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    unknown = cause.field if isinstance(cause, UnknownField) else ""
    return ".".join(filter(None, (*map(str, first["loc"]), unknown)))


def _problem(one: Any) -> str:
    if one["type"] in ("missing", "extra_forbidden"):
        return {"missing": "is missing", "extra_forbidden": "is unknown"}[one["type"]]
    if one["type"] == "value_error":  # our own words, which say what was given
        return str(one["ctx"]["error"])
    if one["type"] == "string_pattern_mismatch":
        return f"must match {one['ctx']['pattern']} (given {str(one['input'])[:60]!r})"
    return f"{one['msg']} (given {str(one['input'])[:60]!r})"
