"""Documents: read as they were written, refused by name where they are not of the form, and never half written."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from fmim_core.records import (
    SCHEMA,
    Attempt,
    Cost,
    Damaged,
    Metrics,
    Record,
    TrialError,
    read_json,
    read_record,
    read_records,
    replacing,
    write_bytes,
    write_json,
)
from fmim_core.records.export import DOCUMENTS, json_schema
from tests.support.documents import AT, epoch_row

ROW = epoch_row(1, beta=math.nan)


def record(**parts: Any) -> Record:
    """A completed search trial."""
    whole = {"trial": "a.c00.fold0", "study": "s", "preset": "p", "arm": "a", "configuration": {"epsilon": 0.5}}
    whole |= {"stage": "search", "replicate": 0, "fold": 0, "search_split": 0, "seed": 7, "fingerprint": "f"}
    whole |= {"status": "completed", "metrics": {"validation": {"mAP": 0.5, "mAP/year_4": math.nan}}}
    whole |= {"history": (ROW,), "started_at": AT, "ended_at": AT}
    return Record.model_validate(whole | parts)


def test_a_record_is_read_as_it_was_written_and_not_a_number_stays_one(tmp_path: Path) -> None:
    written = record(cost=Cost(train_s=1.5, energy_j=None))
    written.save(tmp_path)
    read = read_record(tmp_path, "a.c00.fold0")
    assert repr(read) == repr(written)  # repr: NaN equals NaN
    assert read is not None
    assert math.isnan(read.history[0].beta)
    assert math.isnan(read.metrics.validation["mAP/year_4"])
    assert '"beta": NaN' in (tmp_path / "records" / "a.c00.fold0.json").read_text()
    assert [one.trial for one in read_records(tmp_path)] == ["a.c00.fold0"]
    assert read_record(tmp_path, "a.c00.fold1") is None


def test_what_an_epoch_does_not_have_is_not_written_and_its_numbers_are_found_by_name() -> None:
    assert {"validation_mAP", "delta_histogram"}.isdisjoint(ROW.model_dump(mode="json"))
    assert ROW.model_copy(update={"validation_mAP": 0.5}).model_dump(mode="json")["validation_mAP"] == 0.5
    assert (ROW.number("epsilon"), ROW.number("batches")) == (0.25, 5.0)
    assert math.isnan(ROW.number("beta"))
    assert math.isnan(ROW.number("validation_mAP"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("fold"), "fold: is missing"),
        (lambda c: c.pop("cost"), "is malformed: missing: cost$"),
        (lambda c: c["cost"].pop("eval_s"), r"is malformed: missing: cost\.eval_s$"),
        (lambda c: c.update(ended_at="noon"), "ended_at: Invalid isoformat string: 'noon'"),
        (lambda c: c.update(colour="red"), "colour: is unknown"),
        (lambda c: c.update(status="done"), "status: Input should be 'completed'"),
        (lambda c: c["history"][0].pop("loss"), "history.0.loss: is missing"),
        (lambda c: c["cost"].update(train_s="long"), r"cost.train_s: .* \(given 'long'\)"),
        (lambda c: c["metrics"].update(validation={"mAP/4": 1.0}), "expected a name, or a name and a time"),
        (lambda c: c["metrics"].update(validation=None), "completed without validation metrics"),
        (lambda c: c.update(schema=1), f"has schema 1, but this version reads {SCHEMA}: use the version that wrote it"),
        (lambda c: c.pop("schema"), "has schema None"),
        (lambda c: c["history"].append(3), r"history\.1: Input should be a valid dictionary"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_name(tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "records" / "x.json"
    content = record().to_json()
    change(content)
    write_json(path, content)
    with pytest.raises(ValueError, match=rf"x\.json.*{message}"):
        Record.read(path)


def test_json_of_another_shape_is_refused_by_its_name_or_what_it_is_called(tmp_path: Path) -> None:
    for content, message in (("{}", "schema"), ("null", "schema"), ("[]", "schema"), ("3", "schema"), ("{", "JSON")):
        (tmp_path / "x.json").write_text(content)
        for where in ("", "the record"):
            with pytest.raises(Damaged, match=rf"{where or 'x.json'}.*{message}"):
                Record.read(tmp_path / "x.json", where)


def test_any_bit_of_a_document_counts(tmp_path: Path) -> None:
    """A changed digit is JSON of the right form, and a changed version would be another program's."""
    path = record().path(tmp_path)
    record().save(tmp_path)
    written = path.read_bytes()
    lines = written.decode().splitlines(keepends=True)
    assert lines[1] == f' "sha256": "{hashlib.sha256("".join([lines[0], *lines[2:]]).encode()).hexdigest()}",\n'
    for bit in range(0, 8 * len(written), 37):
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(Damaged, match="fold0"):
            Record.read(path)
    path.write_bytes(written.replace(b'"seed": 7', b'"seed": 5'))
    with pytest.raises(Damaged, match=r"fold0\.json: its content does not match its sha256; it was changed or damaged"):
        Record.read(path)
    path.write_text(json.dumps(record().to_json()))
    with pytest.raises(Damaged, match=r"fold0\.json is malformed: sha256: is missing"):
        Record.read(path)


def test_a_failed_record_alone_may_be_tried_again() -> None:
    statuses = ("completed", "stopped", "diverged", "failed")
    assert [record(status=status).final for status in statuses] == [True, True, True, False]


def test_device_seconds_are_all_seconds_times_the_share() -> None:
    cost = Cost(startup_s=1, data_s=2, train_s=3, eval_s=4, lost_s=5, wall_s=99, device_share=0.5)
    assert (cost.parts_s, cost.device_seconds) == (10, 7.5)
    attempt = Attempt(status="failed", cost=cost, error=TrialError(), started_at=AT, ended_at=AT)
    assert record(cost=Cost(train_s=1, device_share=1.0), attempts=(attempt,)).wasted_s == 7.5
    assert record(metrics=Metrics(test={"mAP": 1.0}), stage="replicate", fold=None).measured == {"mAP": 1.0}


def test_a_file_is_the_old_one_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x.json"
    write_json(path, {"old": 1})
    old = path.read_bytes()

    def write_half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_bytes() == old
    assert os.listdir(path.parent) == ["x.json"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_of_a_document_says_what_it_is(name: str) -> None:
    schema = json_schema(name)
    parts = {name: schema} | schema.get("$defs", {})
    assert [part for part, one in parts.items() if not one.get("description") or not one.get("properties")] == []
    fields = [(part, field, about) for part, one in parts.items() for field, about in one["properties"].items()]
    assert [f"{part}.{field}" for part, field, about in fields if "description" not in about] == []


def test_a_full_disk_is_told_with_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    write_bytes(path := tmp_path / "study.json", b"old")
    ignored, limit = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(OSError, match=re.escape(f"File too large: '{path}'")):
            write_bytes(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_halves_of_characters_as_in_names_that_are_no_utf_8_are_kept(tmp_path: Path) -> None:
    write_json(path := tmp_path / "a.json", {"error": "no such file: caf\udce9.png"})
    assert read_json(path)["error"] == "no such file: caf\udce9.png"
    assert b"caf\\udce9.png" in path.read_bytes()
