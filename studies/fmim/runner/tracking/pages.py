"""MLflow's answers, which come in pages, and pages of its UI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

TRAINING = {"workflowType": "machine_learning"}
"""Since version 3.5 MLflow opens in a view for language models unless a link says otherwise."""


def of(search: Callable[..., Any], *given: Any, **more: Any) -> Iterator[Any]:
    """Yield what a search of MLflow finds, page after page."""
    token: str | None = None
    while True:
        page = search(*given, **more, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def study_page(experiment: str, study_id: str) -> str:
    """Return the page with a study's replicates, from the UI's address on."""
    query = {"searchFilter": f"tags.`fmim.study_id` = '{study_id}'"}
    return f"#/experiments/{experiment}/runs?{urlencode(query | TRAINING)}"


def run_page(experiment: str, run: str, *within: str) -> str:
    """Return a run's page, or one within it, e.g. of an artifact."""
    return f"#/{'/'.join(('experiments', experiment, 'runs', run, *within))}?{urlencode(TRAINING)}"


def links(experiment: str, study_id: str, parent: str) -> str:
    """Return links to a study's runs and to its report, as Markdown."""
    report = run_page(experiment, parent, "artifacts", "report", "index.html")
    return f"[Runs of the study]({study_page(experiment, study_id)}) · [Report]({report})"
