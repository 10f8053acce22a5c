"""JSON schemas of a study's files, for your own programs: `python -m fmim_core.records.export FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fmim_core.records.document import Document
from fmim_core.records.files import SHA256, write_text
from fmim_core.records.progress import CalibrationFile, ProgressFile, ReportSummary
from fmim_core.records.record import Record
from fmim_core.records.selection import ProposalsFile, SelectionFile
from fmim_core.records.study import StudyFile

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
    """Return the JSON schema (draft 2020-12) of the document of that name, with a description of each field.

    A number may also be NaN or an infinity, which JSON does not know; Python's `json` reads them.
    """
    schema = DOCUMENTS[name].model_json_schema(mode="serialization")
    schema["properties"][SHA256] = {"type": "string", "description": "SHA-256 of all other lines of this file"}
    schema["required"] = [*schema.get("required", ()), SHA256]
    return schema


if __name__ == "__main__":
    for name in DOCUMENTS:
        text = json.dumps(json_schema(name), indent=1, ensure_ascii=False) + "\n"
        write_text(Path(sys.argv[1]) / f"{name}.schema.json", text)
