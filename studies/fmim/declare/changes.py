"""Changes of a preset by a run, with `--set FIELD=VALUE`, and what of that is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from fmim.declare.presets import Preset
from fmim.declare.study import Study
from fmim_core.config import in_words
from fmim_spaces.domain import Assignment, as_meant, nested

OF_PRESET = ("folds", "image_size", "phantom", "test_protocol")
"""What is the preset's own; every other name is a field of the training."""


def read_changes(given: Iterable[str]) -> tuple[Assignment, ...]:
    """Read `FIELD=VALUE` as assignments, e.g. `epochs=50` or `model.kind=resnet50`.

    Raises:
        ValueError: one is written otherwise, or a field is given twice.
    """
    changes: dict[str, Assignment] = {}
    for text in given:
        path, equals, value = text.partition("=")
        if not equals or not path or not value:
            raise ValueError(f"--set {text}: write FIELD=VALUE, e.g. --set epochs=50 or --set model.kind=resnet50")
        if path in changes:
            raise ValueError(f"--set {path} is given twice (or once as --{path}): leave one of them out")
        changes[path] = (path, as_meant(value))
    return tuple(changes.values())


def with_changes(preset: Preset, changes: Sequence[Assignment]) -> Preset:
    """Return the preset with other values, which it remembers as `changed`.

    Raises:
        ValueError: a field of the preset's own that does not exist, or a value that it does not allow.
    """
    own = [change for change in changes if change[0].partition(".")[0] in OF_PRESET]
    training = [change for change in changes if change not in own]
    fields = preset.model_dump()
    for name, value in nested(own).items():
        fields[name] = fields[name] | value if isinstance(value, dict) else value
    fields["settings"] = (*preset.settings, *training)
    fields["changed"] = tuple(changes)
    try:
        return Preset.model_validate(fields)
    except ValidationError as error:
        raise ValueError(f"--set: {in_words(error)}") from error


def check_changes(study: Study, changes: Sequence[Assignment]) -> None:
    """Check that no change is of what an arm sets or searches: that makes the arm, and is what a study compares.

    Raises:
        ValueError: one is; the message names the arm.
    """
    for path, value in changes:
        for arm in study.arms:
            taken = {name for name, _ in arm.settings} | {parameter.path for parameter in arm.space.parameters}
            if met := [name for name in taken if _overlap(name, path)]:
                raise ValueError(
                    f"--set {path}={value}: arm {arm.name!r} of study {study.name!r} sets {met[0]} itself; change the "
                    "study's arms instead"
                )


def _overlap(one: str, other: str) -> bool:
    """Look whether two dotted names are the same field, or one lies within the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
