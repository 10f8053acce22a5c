"""Addresses of trackers: which are refused, and that no secret of one is ever shown."""

from __future__ import annotations

import shutil
from base64 import b64encode
from pathlib import Path

import pytest

from fmim.runner.folder.trust import remember
from fmim.runner.tracking.address import TrackingAddress
from fmim_core.records import Damaged, StudyFile
from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.program import Program

SECRET = "S3CR3T"


@pytest.mark.parametrize("uri", ["./mlruns", "file:///tmp/mlruns", "mlruns", "ftp://host/x", "http", "sqlite:x.db"])
def test_a_folder_as_a_store_is_refused_before_anything_starts(uri: str) -> None:
    with pytest.raises(ValueError, match="not in a folder"):
        TrackingAddress.of(uri)


def test_a_sqlite_path_is_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    address = TrackingAddress.of("sqlite:///runs/mlflow.db")
    assert (address.shown, address.whole) == (f"sqlite:///{tmp_path}/runs/mlflow.db",) * 2
    assert (address.file, address.own) == (tmp_path / "runs" / "mlflow.db", False)
    assert TrackingAddress.beside(tmp_path / "runs" / "x") == TrackingAddress(address.shown, address.whole, own=True)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        (f"https://bob:{SECRET}@host:5000/ml", "https://host:5000/ml"),
        (f"https://{SECRET}@host", "https://host"),
        (f"postgresql://bob:{SECRET}@host/db?sslmode=require", "postgresql://bob@host/db"),
        (f"mysql+pymysql://bob@host/db?password={SECRET}", "mysql+pymysql://bob@host/db"),
        (f"postgresql+psycopg2://bob:a/b?{SECRET}@host:5432/db", "postgresql+psycopg2://bob@host:5432/db"),
        (f"postgresql://host/db?options=a@b&token={SECRET}", "postgresql://host/db"),
    ],
)
def test_what_is_shown_has_no_secret_and_mlflow_gets_all(given: str, shown: str) -> None:
    address = TrackingAddress.of(given)
    assert (str(address), address.whole) == (shown, given)
    assert SECRET not in repr(address)
    assert SECRET not in address.without_secrets(f"cannot connect to {given}")
    assert address == TrackingAddress.of(shown)  # given with a password or without, it is the same tracker


@pytest.mark.parametrize(
    "uri",
    [
        f"http://bob:{SECRET}/x@host",
        f"http://bob:a?{SECRET}@host",
        f"http://host?token={SECRET}",
        f"http://host/#{SECRET}@x",
        f"postgresql://bob:{SECRET}@half@host/db",
        f"ftp://bob:{SECRET}@host",
        f"bob:{SECRET}@host",
    ],
)
def test_an_address_that_is_refused_is_told_without_its_secret(uri: str) -> None:
    with pytest.raises(ValueError, match="--tracking-uri") as refused:
        TrackingAddress.of(uri)
    assert SECRET not in str(refused.value)


def test_secrets_of_the_environment_and_as_requests_say_them_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "bob")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "T0K3N")
    header = b64encode(f"bob:{SECRET}".encode()).decode()
    told = TrackingAddress.of("http://host").without_secrets(f"Basic {header}, Bearer T0K3N, {SECRET} of bob")
    assert told == "Basic ***, Bearer ***, *** of bob"
    monkeypatch.undo()
    encoded = b64encode(b"bob:p@ss").decode()
    assert TrackingAddress.of("http://bob:p%40ss@host").without_secrets(f"{encoded} p@ss p%40ss") == "*** *** ***"


def test_an_address_comes_from_the_option_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FMIM_TRACKING_URI", raising=False)
    assert TrackingAddress.named(None) is None
    given = f"https://bob:{SECRET}@host:5000"
    (tmp_path / "uri").write_text(given + "\n")
    monkeypatch.setenv("FMIM_TRACKING_URI", f"@{tmp_path}/uri")
    address = TrackingAddress.named(None)
    assert address is not None
    assert (address.whole, address.shown) == (given, "https://host:5000")
    assert TrackingAddress.named("http://other") == TrackingAddress.of("http://other")
    with pytest.raises(ValueError, match=r"@nowhere: the file cannot be read: No such file"):
        TrackingAddress.named("@nowhere")
    with pytest.raises(Damaged, match="is a folder"):
        TrackingAddress.named(f"@{tmp_path}")
    monkeypatch.setenv("FMIM_TRACKING_URI", "mlruns")
    with pytest.raises(ValueError, match="FMIM_TRACKING_URI"):
        TrackingAddress.named(None)


def test_a_password_in_the_command_line_is_warned_of(fmim_here: Program, tmp_path: Path) -> None:
    (tmp_path / "uri").write_text(f"http://bob:{SECRET}@127.0.0.1:1")
    for uri, warned in ((f"http://bob:{SECRET}@127.0.0.1:1", 1), ("http://127.0.0.1:1", 0), ("@uri", 0)):
        done = fmim_here("mirror", tmp_path / "none", "--tracking-uri", uri, cwd=tmp_path)
        assert (done.stderr.count("warning: "), done.stderr.count("--tracking-uri @FILE")) == (warned, warned)
        assert SECRET not in done.stderr


def test_a_studys_tracker_is_where_it_was_mirrored_to(tmp_path: Path) -> None:
    out = make_out(tmp_path / "x", arms=("triplet_q1",))

    def address_of(uri: str) -> TrackingAddress:
        execution = StudyFile.read(out / "study.json").executions[-1].model_dump()
        edit(out / "study.json", executions=[execution | {"tracking_uri": uri}])
        return TrackingAddress.of_study(out, StudyFile.read(out / "study.json"))

    remember("http://host:5000")
    assert address_of("http://host:5000") == TrackingAddress.of("http://host:5000")
    assert address_of(f"sqlite:///{tmp_path}/mlflow.db").own  # and is made anew where it is gone
    with pytest.raises(ValueError, match=f"{tmp_path}/other.db, to which .* is not there: put it back"):
        address_of(f"sqlite:///{tmp_path}/other.db")
    assert address_of("sqlite:////nowhere/mlflow.db") == TrackingAddress.beside(out)  # where it is made anew
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "mlflow.db").touch()
    before = TrackingAddress.of(f"sqlite:///{tmp_path}/before/mlflow.db")
    (tmp_path / "mlflow.db").touch()
    remember(before.shown)
    assert address_of("sqlite:////nowhere/other.db") == TrackingAddress.beside(out)  # it has moved with the folder
    assert address_of(before.shown) == before  # somebody named it
    shutil.copytree(out, tmp_path / "before" / "x")
    assert address_of(before.shown) == TrackingAddress.beside(out)  # both were copied
