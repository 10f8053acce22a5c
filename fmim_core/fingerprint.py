"""The fingerprint by which results are recognised: a hash of JSON in one form."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel


def sha256_of_text(text: str) -> str:
    """Return the SHA-256 (hex) of a text as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces; of a model that of its fields."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """Return the SHA-256 (hex) of a value's canonical JSON: equal for equal content, whatever the order of keys."""
    return sha256_of_text(canonical_json(value))
