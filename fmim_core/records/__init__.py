"""The files of a study: typed documents with one version, read and written through one place. Needs no torch."""

# ruff: noqa: F401 (this is the list of what other packages use)

from fmim_core.records.code import Code, CodeFile
from fmim_core.records.cost import Attempt, Cost, SoFar, Status, TrialError
from fmim_core.records.document import SCHEMA, Document, DocumentPart, Name, Time, flat
from fmim_core.records.files import (
    Damaged,
    json_text,
    link_or_copy,
    now,
    read_json,
    replacing,
    set_aside,
    write_bytes,
    write_json,
    write_text,
)
from fmim_core.records.progress import ProgressFile, RunningTrial, TrialCounts, TrialLengths, progress_path
from fmim_core.records.queries import (
    QUERIES_ENDING,
    QUERY_COLUMNS,
    QueryColumn,
    queries_path,
    read_queries,
    write_queries,
)
from fmim_core.records.record import (
    EpochRow,
    Member,
    Metrics,
    MetricValues,
    Record,
    Stage,
    Stopped,
    TestProtocol,
    read_record,
    read_records,
    record_path,
    trial_name,
)
from fmim_core.records.reused import THIS_STUDY, ReusedFrom, trials_with_result
from fmim_core.records.study import (
    ArmEntry,
    CalibrationFile,
    Configuration,
    DataEntry,
    Execution,
    FixedSelection,
    FoldEntry,
    ForecastEntry,
    PlannedTrials,
    Proposal,
    ProposalsFile,
    ReferenceEntry,
    Score,
    SearcherFacts,
    Selection,
    SelectionFile,
    StudyFile,
    SubsetSummary,
    calibration_path,
    study_path,
)
from fmim_core.records.summary import ReportSummary, summary_path
from fmim_core.records.text import in_csv, without_controls
