"""What a study writes: typed documents with one version, read and written through one place. Needs no torch."""

from fmim_core.records.document import SCHEMA, Document, Part, in_words
from fmim_core.records.files import now, read_json, replacing, write_bytes, write_json, write_text
from fmim_core.records.record import (
    Attempt,
    Cost,
    EpochRow,
    Metrics,
    MetricValues,
    Record,
    RetrievalSample,
    SoFar,
    Stage,
    Status,
    Stopped,
    TrialError,
    read_record,
    read_records,
    record_path,
)

__all__ = [
    "SCHEMA",
    "Attempt",
    "Cost",
    "Document",
    "EpochRow",
    "MetricValues",
    "Metrics",
    "Part",
    "Record",
    "RetrievalSample",
    "SoFar",
    "Stage",
    "Status",
    "Stopped",
    "TrialError",
    "in_words",
    "now",
    "read_json",
    "read_record",
    "read_records",
    "record_path",
    "replacing",
    "write_bytes",
    "write_json",
    "write_text",
]
