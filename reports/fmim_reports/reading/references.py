"""What the references measured on the test set."""

from __future__ import annotations

from fmim_core.records import ReferenceEntry
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, estimate_of


def on_reference(results: Results, reference: ReferenceEntry, metric: str, time: int | None = None) -> Estimate:
    """A reference's test metric over its seeds, at one time after baseline if given; one value has no SE."""
    return estimate_of(results.of(reference.name, "reference"), metric, reference.replicates, "seed", time)
