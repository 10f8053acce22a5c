"""MLflow's client for an address: a sqlite file made ready for it, its searches page by page, and pages of its UI."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from fmim.runner.folder.locks import one_at_a_time
from fmim.runner.tracking.address import ARTIFACTS, BESIDE, FILE, TrackingAddress
from fmim.runner.tracking.charts import TRAINING, VIEW
from fmim_core.records import Damaged, set_aside

ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",  # nothing leaves this machine but to the server that somebody named
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # seconds; MLflow's own settings wait for many minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # a request for a new run that is sent again may make two
}
"""Settings of MLflow, unless the user has set them otherwise."""

LOOKED_THROUGH = 100 * 2**20  # bytes: some seconds
PLACES = {"experiments": "artifact_location", "runs": "artifact_uri", "logged_models": "artifact_location"}
"""The tables of MLflow's that hold places of artifacts, as whole paths, and their columns."""


def open_client(address: TrackingAddress, tell: Callable[[str], None]) -> Any:
    """Return an MLflow client that raises errors and prints nothing, since it may hold secrets.

    Before, a sqlite file is made ready: it is there, whole, and finds its artifacts; other databases are MLflow's to
    prepare. One program at a time does so: two cannot create the tables at once. A damaged database of the study's own
    is set aside, which `tell` is told.

    Raises:
        Damaged: a database that somebody named is; it stays where it is.
        ValueError: the study's own database has artifacts on another machine.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    from mlflow import MlflowClient  # it sets the level of its log lines itself

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address.file is not None:
        prepare(address.file, address.own, tell)
    return MlflowClient(address.whole)


def prepare(path: Path, own: bool, tell: Callable[[str], None]) -> None:
    """Make a sqlite file ready, as `open_client` says; `own` is the study's, which nobody named."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(path.parent):
        if (problem := _problem(path)) is not None:
            what = f"the database {path} is damaged ({problem})"
            if not own:
                raise Damaged(f"{what} and is left as it is: put a copy back, or give another --tracking-uri")
            for beside in (path.with_name(f"{path.name}{ending}") for ending in BESIDE):
                if beside.exists():  # left there, it would be applied to the next database of the name
                    set_aside(beside)
            tell(f"{what}: moved to {set_aside(path).name}, and written anew from the records")
        if not path.exists() or not path.stat().st_size:
            _make(path)
        if own:
            _find_artifacts(path, tell)


def _make(path: Path) -> None:
    """Make a sqlite file with MLflow's tables: whole, or not at all.

    MLflow makes them in many steps, and cannot go on with those that a killed process has left.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
    part.mkdir()
    try:
        store = SqlAlchemyStore(f"{FILE}{part / path.name}", (path.parent / ARTIFACTS).as_uri())
        store.engine.dispose()
        (part / path.name).replace(path)
    finally:
        shutil.rmtree(part)


def _problem(path: Path) -> str | None:
    """Return what sqlite finds wrong with a file; None where it is whole, empty or not there.

    sqlite keeps no checksums: a changed digit of a metric cannot be found. Of a file above `LOOKED_THROUGH` bytes only
    its list of tables is read: looking through a GB takes minutes, and damage shows when MLflow meets it.
    """
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", timeout=1.0, uri=True)) as database:
            small = path.stat().st_size <= LOOKED_THROUGH
            check = "PRAGMA integrity_check(1)" if small else "SELECT 'ok' FROM (SELECT count(*) FROM sqlite_master)"
            (found,) = database.execute(check).fetchone()
    except sqlite3.OperationalError:  # locked, or not to be opened: nothing that says damage, and MLflow will tell
        return None
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else " ".join(found.split())


def _find_artifacts(path: Path, tell: Callable[[str], None]) -> None:
    """Let the study's own database name artifacts where they lie now, if it has moved with the folder beside it.

    Only places change where there is something, and the places of experiments, where new runs have theirs.

    Raises:
        ValueError: artifacts lie on another machine, which nobody named.
    """
    here, moved = path.parent.as_uri(), 0
    with closing(sqlite3.connect(path, timeout=20.0)) as database, database:
        for table, column in PLACES.items():
            away = f"SELECT {column} FROM {table} WHERE {column} LIKE '%://%' AND {column} NOT LIKE 'file:///%'"
            for (place,) in database.execute(away).fetchall():  # MLflow would send it this user's passwords
                raise ValueError(f"{path} keeps files at {place}: if you trust it, give --tracking-uri {FILE}{path}")
            there = f"SELECT DISTINCT {column} FROM {table} WHERE {column} LIKE 'file:%/{ARTIFACTS}%'"
            for (place,) in database.execute(there).fetchall():
                new = f"{here}{place[place.rindex(f'/{ARTIFACTS}') :]}"
                if new != place and (table == "experiments" or Path(unquote(urlsplit(new).path)).exists()):
                    database.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, place))
                    moved += 1
    if moved:
        tell(f"MLflow's database has moved to {path.parent}: artifacts are looked for there, too ({moved} places)")


def found_by(search: Callable[..., Any], *given: Any, **more: Any) -> Iterator[Any]:
    """Yield what a search of MLflow finds, page after page."""
    token: str | None = None
    while True:
        page = search(*given, **more, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def study_page(experiment: Any, study_id: str) -> str:
    """Return the page of a study, from the UI's address on: its view where that was written, else its runs."""
    view = {"viewStateShareKey": study_id, "compareRunsMode": "CHART"}
    runs = {"searchFilter": f"tags.`fmim.study_id` = '{study_id}'"}
    query = view if f"{VIEW}{study_id}" in experiment.tags else runs
    return f"#/experiments/{experiment.experiment_id}/runs?{urlencode(query | TRAINING)}"


def links(experiment: Any, study_id: str, parent: str) -> str:
    """Return links to a study's charts and to its report, as Markdown."""
    runs = f"#/experiments/{experiment.experiment_id}/runs"
    report = f"{runs}/{parent}/artifacts/report/index.html?{urlencode(TRAINING)}"
    return f"[Charts of the study]({study_page(experiment, study_id)}) · [Report]({report})"
