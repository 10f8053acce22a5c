"""The fingerprint by which results are recognised: a hash of JSON in one form."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel


def sha256_of_text(text: str) -> str:
    """Return the SHA-256 (hex) of a text as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(value: Any) -> str:
    """Return the SHA-256 (hex) of a value as JSON with sorted keys and no spaces; of a model, of its fields."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return sha256_of_text(json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
