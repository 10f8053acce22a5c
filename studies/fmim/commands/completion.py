"""Names that a shell completes: studies, presets and data sets; where none fits, it completes files by itself."""

from __future__ import annotations


def complete_study(incomplete: str) -> list[str]:
    """Return the studies of the catalogue that begin so."""
    from fmim import catalogue

    return [name for name in catalogue.names() if name.startswith(incomplete)]


def complete_preset(incomplete: str) -> list[str]:
    """Return the presets that most studies have and that begin so."""
    from fmim.declare.presets import PRESETS

    return [preset.name for preset in PRESETS if preset.name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Return the named data sets that begin so."""
    from fmim_core.data.sets.base import DATA_SETS
    from fmim_core.data.sets.phantom_config import PHANTOM

    return [name for name in (PHANTOM, *DATA_SETS.kinds()) if name.startswith(incomplete)]
