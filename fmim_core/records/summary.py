"""report/summary.json: what an overview of many studies shows of one, so that it need not read each one's records."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from fmim_core.records.document import Document


class ReportSummary(Document):
    """report/summary.json: a report in a few words and counts, written whenever the report is built."""

    study_id: str = Field(description="the id of the study in study.json")
    executions: int = Field(description="starts of the study when it was written; a later one makes it out of date")
    sentences: list[str] = Field(description="what was found, one sentence a comparison, or an arm where there is none")
    warnings: list[str] = Field(description="what is not as planned; none for a complete and clean run")
    trials: dict[str, int] = Field(description="planned trials by their status; `missing` of those without a record")
    device_seconds: float = Field(description="seconds × the share of the device, of all trials with their attempts")

    @property
    def planned(self) -> int:
        """The trials that there are to be."""
        return sum(self.trials.values())


def summary_path(out: Path) -> Path:
    """Return the place of the summary of a study's report in the study's folder."""
    return out / "report" / "summary.json"
