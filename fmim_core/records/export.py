"""JSON schemas of what a study writes, for programs of one's own: `python -m fmim_core.records.export` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fmim_core.records.document import Document
from fmim_core.records.files import write_text
from fmim_core.records.progress import ProgressFile
from fmim_core.records.record import Record
from fmim_core.records.study import CalibrationFile, ProposalsFile, SelectionFile, StudyFile
from fmim_core.records.summary import ReportSummary

FOLDER = Path(__file__).parent / "schema"
DOCUMENTS: dict[str, type[Document]] = {
    "record": Record,
    "study": StudyFile,
    "selection": SelectionFile,
    "proposals": ProposalsFile,
    "calibration": CalibrationFile,
    "summary": ReportSummary,
    "progress": ProgressFile,
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of the document of that name, with a description of each field.

    A number may also be NaN or an infinity, which JSON does not know; Python's `json` reads them.
    """
    return DOCUMENTS[name].model_json_schema(mode="serialization")


if __name__ == "__main__":
    for name in DOCUMENTS:
        write_text(FOLDER / f"{name}.schema.json", json.dumps(json_schema(name), indent=1, ensure_ascii=False) + "\n")
