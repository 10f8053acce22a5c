"""Settings in a TOML file beside a user's table of images: their normalisation, and how queries are grouped."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from fmim_core.config import Config, in_words
from fmim_core.data.files import other_than_file
from fmim_core.metric_names import YEAR, Unit


class ManifestSettings(Config):
    """The keys that such a file may have.

    Args:
        mean, std: of the training's normalisation (grey − mean)/std; where one is left out, the preset's counts.
        interval: the unit of time by which queries are grouped.
    """

    mean: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    std: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    interval: Unit = YEAR.unit

    @property
    def training(self) -> dict[str, float]:
        """Return the training fields that are given, by their dotted names."""
        given = self.model_dump(include={"mean", "std"}, exclude_none=True)
        return {f"augmentation.{name}": value for name, value in given.items()}


def read_settings(path: Path) -> tuple[ManifestSettings, dict[str, str]]:
    """Read the settings in a file, and its name → the SHA-256 of its bytes; without a file the defaults, and nothing.

    Raises:
        ValueError: it cannot be read, is not TOML, or has a key or a value that is not allowed; says what is.
    """
    if not path.exists():
        return ManifestSettings(), {}
    if other := other_than_file(path):
        raise ValueError(f"{path} cannot be read: it is {other}, where the settings of a table belong")
    try:
        content = path.read_bytes()
        settings = ManifestSettings.model_validate(tomllib.loads(content.decode("utf-8-sig")))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ValueError(f"{path}: {in_words(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file, with lines such as mean = 0.5: {error}") from None
    return settings, {path.name: hashlib.sha256(content).hexdigest()}
