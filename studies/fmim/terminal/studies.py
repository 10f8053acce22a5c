"""What `fmim list` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fmim.declare import Study
from fmim.printing.console import TextConsole
from fmim.printing.table import TextTable


def show_studies(studies: Mapping[str, Study], console: TextConsole) -> None:
    """Each with its question, by what `fmim run` takes: a name or a file."""
    rows = [(name, study.question) for name, study in studies.items()]
    console.show(TextTable(("study", "question"), rows))


def studies_as_json(studies: Mapping[str, Study]) -> str:
    """For programs; the guide says what the fields are."""
    return json.dumps([_fields(name, study) for name, study in studies.items()], indent=1, ensure_ascii=False)


def _fields(given: str, study: Study) -> dict[str, object]:
    return {
        "study": given,
        "name": study.name,
        "title": study.title,
        "question": study.question,
        "metric": study.metric,
        "arms": [arm.name for arm in study.arms],
        "comparisons": study.comparison_pairs,
        "presets": [preset.name for preset in study.presets],
    }
