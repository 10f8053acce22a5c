"""A study at several settings: each declared difference at all of them, and its mean over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fmim_core.records import flat, study_path
from fmim_reports.parts.comparisons.comparison import Comparison, Difference, comparisons, corrected
from fmim_reports.reading.results import Results, read_results
from fmim_reports.stats import UNKNOWN, OverSettings, mean_over_settings


@dataclass(frozen=True)
class Setting:
    """The study at one setting: the field whose value is another than in the study as it is; blank for that itself."""

    folder: str
    field: str
    value: str
    results: Results

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The values of fields that its study.json has, by the names that the command line gives them."""
        study = self.results.study
        details = dict(flat({study.data.kind: study.data.details}))
        of_run = {"data": study.data.name, "seed": study.seed, "cohort": details.get("phantom.seed", "")}
        return dict(flat(study.train)) | details | of_run

    def label(self, fields: Sequence[str] = ()) -> str:
        """Return what tells it apart: its own value, or those of these fields in the study as it is."""
        if self.field:
            return f"{self.field} = {self.value}"
        known = [f"{field} = {self.values[field]}" for field in fields if field in self.values]
        return "as it is" + (f" ({', '.join(known)})" if known else "")


def read_settings(out: Path, settings: Mapping[str, tuple[str, str]]) -> list[Setting]:
    """Read the studies in `out`, from the field and the value of each folder; the one as it is comes first.

    A study that has not begun is left out.
    """
    return [
        Setting(folder, field, value, read_results(out / folder))
        for folder, (field, value) in settings.items()
        if study_path(out / folder).is_file()
    ]


@dataclass(frozen=True, kw_only=True)
class OverAll(Difference):
    """A declared difference over all settings.

    Args:
        at: what it is at each setting that has its arms.
        found: its mean over settings; None without the study as it is.
    """

    at: Sequence[tuple[Setting, Comparison]]
    found: OverSettings | None

    @property
    def first(self) -> Comparison:
        """Return what it is in the study as it is, or at the first setting there is."""
        return self.at[0][1]


def over_settings(settings: Sequence[Setting]) -> tuple[OverAll, ...]:
    """Return each difference that the study declared over the settings, corrected by Holm for their number."""
    at: dict[tuple[str, str], list[tuple[Setting, Comparison]]] = {}
    for setting in settings:
        for one in comparisons(setting.results):
            at.setdefault((one.a.name, one.b.name), []).append((setting, one))
    return corrected([_over_all(found) for found in at.values()])


def _over_all(at: Sequence[tuple[Setting, Comparison]]) -> OverAll:
    known = [(setting.field, one, one.value) for setting, one in at if one.value is not None]
    others: dict[str, list[float]] = {}
    for field, _, value in known:
        others.setdefault(field, []).append(value)
    center = others.pop("", None)
    found = mean_over_settings(center[0], known[0][1].seeds, others) if center else None
    return OverAll(
        metric=at[0][1].metric,
        margin=at[0][1].margin,
        value=found.mean if found else None,
        seeds=found.uncertainty if found else UNKNOWN,
        tested=all(one.tested for _, one in at),
        at=at,
        found=found,
    )
