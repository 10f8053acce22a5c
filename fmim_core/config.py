"""The base of every configuration, and the fingerprint by which results are recognised."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """A frozen, hashable, picklable configuration; unknown keys and values out of range raise when it is made.

    Raises:
        pydantic.ValidationError: a `ValueError` that names the field, the value given and what is allowed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def fingerprint(value: Any) -> str:
    """SHA-256 (hex) of `value` as canonical JSON: equal content, equal fingerprint, whatever the key order."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
