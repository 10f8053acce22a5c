"""A sqlite file that MLflow keeps runs in: who makes it, what belongs to it, and what becomes of a damaged one."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from fmim.runner.tracking.address import FILE, TrackingAddress
from fmim_core.records import Damaged, set_aside

ARTIFACTS = "mlflow-artifacts"  # a folder beside the file
LOOKED_THROUGH = 100 * 2**20  # bytes: some seconds
BESIDE = ("-wal", "-shm", "-journal")  # sqlite's own files: what has not reached the database yet


def database_files(address: TrackingAddress, folder: Path) -> set[str]:
    """Names of what the mirror keeps directly in a folder: a sqlite file with what belongs to it, and artifacts."""
    path = address.file
    if path is None or path.parent != folder:
        return set()
    return {ARTIFACTS, *(f"{path.name}{ending}" for ending in ("", ".lock", *BESIDE))}


@contextlib.contextmanager
def opening(address: TrackingAddress, tell: Callable[[str], None]) -> Iterator[None]:
    """The block in which a sqlite file is opened: nobody else of ours is in it, and the file is new or whole.

    Two programs cannot create its tables at once. A damaged database of the study's own is set aside, which `tell` is
    told.

    Raises:
        Damaged: a database that somebody named is; it stays where it is.
    """
    path = address.file
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("a") as file:
        with contextlib.suppress(OSError):  # a network drive without locks; sqlite may have others there
            fcntl.flock(file, fcntl.LOCK_EX)
        if (problem := _problem(path)) is not None:
            what = f"the database {path} is damaged ({problem})"
            if not address.own:
                raise Damaged(f"{what} and is left as it is: put a copy back, or give another --tracking-uri")
            tell(f"{what}: moved to {_set_aside(path).name}, and written anew from the records")
        yield


def make_if_new(address: TrackingAddress) -> None:
    """Make a sqlite file that is not there, with MLflow's tables: whole, or not at all.

    MLflow makes them in many steps, and cannot go on with those that a killed process has left.
    """
    path = address.file
    if path is None or (path.exists() and path.stat().st_size):
        return
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
    """What sqlite finds wrong with a file; None where it is whole, empty or not there.

    sqlite keeps no checksums: a changed digit of a metric cannot be found. Of a file above `LOOKED_THROUGH` bytes only
    its list of tables is read: looking through a GB takes minutes, and damage shows when MLflow meets it.
    """
    if not path.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", timeout=1.0, uri=True)) as database:
            small = path.stat().st_size <= LOOKED_THROUGH
            check = "PRAGMA integrity_check(1)" if small else "SELECT 'ok' FROM (SELECT count(*) FROM sqlite_master)"
            (found,) = database.execute(check).fetchone()
    except sqlite3.OperationalError:  # locked, or not to be opened: nothing that says damage, and MLflow will tell
        return None
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else " ".join(found.split())


def _set_aside(path: Path) -> Path:
    for ending in BESIDE:  # left there, they would be applied to the next database of the name
        beside = path.with_name(f"{path.name}{ending}")
        if beside.exists():
            set_aside(beside)
    return set_aside(path)
