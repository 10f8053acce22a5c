"""The base of every document that a study writes: typed, checked when it is read, with a version of its form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from fmim_core.config import StrictModel, in_words
from fmim_core.records.files import SHA256, Damaged, json_text, read_json, write_text

SCHEMA = 6
"""The version of the form of all documents. Raise it when a field is added or removed, or its meaning changes."""


def _checked_time(text: str) -> str:
    datetime.fromisoformat(text)  # raises ValueError
    return text


Time = Annotated[str, AfterValidator(_checked_time)]
"""A time as `now` writes it, ISO 8601."""


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""The name of a study, an arm or a preset: a part of file names, so that it cannot name another folder."""

DottedName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]{0,79}$")]
"""The name of a trial, which is also a file name, or of a reference."""


class DocumentPart(StrictModel):
    """A part of a document: frozen, without unknown keys; numbers may be NaN, which stays NaN in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Document(DocumentPart):
    """A JSON file; its key `schema` is the version of the form."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    schema_version: int = Field(SCHEMA, alias="schema", description="version of the form of this file")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return self.model_dump(mode="json")

    @property
    def text(self) -> str:
        """Its file's text, with the SHA-256."""
        return json_text(self.to_json())

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_text(path, self.text)

    @classmethod
    def read(cls, path: Path, where: str = "") -> Self:
        """Return the document in a file, which errors call `where`, or else by its path.

        Raises:
            FileNotFoundError: there is nothing.
        Damaged: no file, not JSON, not what was written, or not of this form; names it and what is wrong with it.
            ValueError: of another version.
        """
        content, where = read_json(path, where), where or str(path)
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            given = content.get("schema") if isinstance(content, dict) else f"none ({type(content).__name__})"
            other_version = isinstance(given, int)
            raise (ValueError if other_version else Damaged)(
                f"{where} has schema {given}, but this version reads {SCHEMA}: use the version that wrote it, or start "
                "over with --fresh, which moves the study's folder aside"
            )
        sha256 = content.pop(SHA256, None)
        try:
            document = cls.model_validate(content)
        except ValidationError as error:
            raise Damaged(f"{where} is malformed: {in_words(error)}") from error
        if sha256 is None:
            raise Damaged(f"{where} is malformed: {SHA256}: is missing")
        return document

    @classmethod
    def find(cls, path: Path, where: str = "") -> Self | None:
        """Return the document in a file; None where there is nothing. Raises as `read`."""
        try:
            return cls.read(path, where)
        except FileNotFoundError:
            return None


def flat(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested fields as (dotted name, value): {"batches": {"per_epoch": 5}} → ("batches.per_epoch", 5)."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
