"""A field takes values of its type alone: in configurations and in documents no text is a number, no number a truth."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from fmim_core.config import Config
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.records import Cost, Document
from fmim_spaces.domain import as_meant


class Fields(Config):
    """One of each."""

    whole: int = 1
    number: float | None = 1.0
    truth: bool = False
    text: str = ""
    numbers: tuple[float, ...] = ()
    either: float | int | str = 0


class ByNumber(Document):
    """A document with numbers as keys, which are text in JSON."""

    by_number: dict[int, float]


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ("whole", ("5", True, 5.0, 5.5, None, [5])),
        ("number", ("0.5", "nan", True, [0.5])),
        ("truth", (0, 1, "yes", "1", "True", None)),
        ("text", (5, True, None, ["a"])),
        ("numbers", (["0.5"], [True], 0.5, "55")),
        ("either", (True,)),
    ],
)
def test_another_type_is_refused(field: str, refused: tuple[Any, ...]) -> None:
    for given in refused:
        with pytest.raises(ValidationError, match=field):
            Fields.model_validate({field: given})


def test_what_says_the_same_is_taken() -> None:
    for field, given, made in (
        ("number", 5, 5.0),
        ("truth", "true", True),
        ("truth", "false", False),
        ("numbers", [1, 0.5], (1.0, 0.5)),
        ("either", 5, 5),
        ("either", 5.0, 5.0),
        ("either", "5", "5"),
    ):
        found = getattr(Fields.model_validate({field: given}), field)
        assert (found, type(found)) == (made, type(made))


def test_documents_are_as_strict_and_their_keys_are_text() -> None:
    assert ByNumber.model_validate({"by_number": {"2": 1}}).by_number == {2: 1.0}
    for given in ({"epochs": "5"}, {"train_s": True}, {"epochs": 5.0}, {"device": 0}):
        with pytest.raises(ValidationError):
            Cost.model_validate(given)


def test_text_is_a_number_where_it_is_written_as_one() -> None:
    meant = {"1e3": 1000, "2.0": 2.0, "5e-1": 0.5}
    meant |= {word: word for word in ("1_000", "nan", "inf", "1e999", "٣", "0x1")}
    for text, value in meant.items():
        assert (as_meant(text), type(as_meant(text))) == (value, type(value))
    assert PhantomConfig.model_validate({"mirror_right": as_meant("false")}).mirror_right is False
