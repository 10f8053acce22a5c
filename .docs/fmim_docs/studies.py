"""The studies of the catalogue with their arms, and the presets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fmim import catalogue
from fmim.declare import Arm, Preset, Study
from fmim.declare.presets import PRESETS
from fmim_core.records import flat
from fmim_docs.markdown import code, page, table


def studies_page() -> str:
    """Presets first, then each study."""
    return page(
        "Studies and presets",
        "`fmim list` names the studies, and `fmim plan STUDY --preset PRESET` says what one would run.",
        "## Presets",
        table(["preset", "what"], ([code(preset.name), preset.about] for preset in PRESETS)),
        "A study may change them; these are those that most studies have. Fields of the training are described "
        "[there](training.md), and those that no preset names have the defaults that are given there.",
        _preset_table(PRESETS),
        *(_study(catalogue.find(name)) for name in catalogue.names()),
    )


def _preset_table(presets: Iterable[Preset]) -> str:
    whole = {preset.name: _fields(preset) for preset in presets}
    fields = dict.fromkeys(field for values in whole.values() for field in values)
    rows = ([code(field), *(str(values.get(field, "")) for values in whole.values())] for field in fields)
    return table(["field", *(code(name) for name in whole)], rows)


def _fields(preset: Preset) -> dict[str, Any]:
    sizes = preset.model_dump(exclude={"name", "about", "settings", "changed"}, exclude_none=True)
    return dict(flat(sizes)) | dict(preset.settings)


def _study(study: Study) -> str:
    compared = ", ".join(f"`{a}` − `{b}`" for a, b in study.comparison_pairs) or "none"
    parts = [
        f"## {study.name}",
        f"**{study.title}.** {study.question}",
        table(["arm", "label", "settings", "space", "search", "N_s"], map(_arm, study.arms)),
        f"Comparisons: {compared}. Selected and compared by {study.metric}; on par within "
        f"{study.equivalence_margin:g}. {'' if study.search else 'Nothing is searched.'}",
    ]
    if study.presets != PRESETS:
        parts.append(f"Its own presets: {', '.join(code(one.name) for one in study.presets if one not in PRESETS)}.")
    return "\n\n".join(parts)


def _arm(arm: Arm) -> list[str]:
    settings = "<br>".join(code(f"{path}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{value}") for path, value in arm.settings)
    space = "<br>".join(code(parameter) for parameter in arm.space.parameters)
    return [code(arm.name), arm.label, settings, space, str(arm.searcher), str(arm.budget)]
