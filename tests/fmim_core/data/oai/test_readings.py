"""The OAI's readings of knees, generated and damaged: what a reader with a pencil takes from them, or a refusal."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fmim_core.data.oai.metadata import Metadata
from tests.support.oai_folders import IDS, MISSING, pipes

GRADE_CELLS = ["0", "1", "2.0", "3: 3", "4", "", ".", MISSING, ".A: Not Expected", ".M", "9", "1.5", "two"]
SIDE_CELLS = ["1", "2", "1: Right", "2: Left", "1.0", "3", "", MISSING]
ID_CELLS = ["9000001", "9000002", "9000001.0", "09000002", "9x", "", "Übung"]
row = st.tuples(st.sampled_from(ID_CELLS), st.sampled_from(SIDE_CELLS), st.sampled_from(GRADE_CELLS))


def oracle(rows: list[tuple[str, str, str]]) -> dict[tuple[str, int, str], str]:
    """What a reader with a pencil takes from these rows: of each knee the first grade that is one, or blank."""
    people = dict.fromkeys(("9000001", "9000001.0"), "9000001") | dict.fromkeys(("9000002", "09000002"), "9000002")
    sides = {"1": "R", "1: Right": "R", "1.0": "R", "2": "L", "2: Left": "L"}
    grades = {"0": "0", "1": "1", "2.0": "2", "3: 3": "3", "4": "4"}
    knees: dict[tuple[str, int, str], str] = {}
    for person, side, grade in rows:
        if person in people and side in sides:
            knee = (people[person], 0, sides[side])
            knees[knee] = knees.get(knee, "") or grades.get(grade, "")
    return knees


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(row, min_size=1, max_size=12),
    twice=st.booleans(),
    separator=st.sampled_from("|,;\t"),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    last=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    dictionary=st.booleans(),
    upper=st.booleans(),
    order=st.permutations(["id", "side", "v00xrkl", "readprj", "remark"]),
)
def test_any_readings(
    rows: list,
    twice: bool,
    separator: str,
    newline: str,
    last: bool,
    encoding: str,
    dictionary: bool,
    upper: bool,
    order: list,
) -> None:
    rows = rows * 2 if twice else rows
    lines = [[name.upper() if upper else name for name in order]]
    if dictionary:
        lines.append([f"Was ist {name}?" for name in order])
    for person, side, grade in rows:
        cells = {"id": person, "side": side, "v00xrkl": grade, "readprj": "15", "remark": "für später"}
        lines.append([cells[name] for name in order])
    content = newline.join(separator.join(line) for line in lines) + (newline if last else "")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "kxr_sq_bu00.txt").write_bytes(content.encode(encoding))
        pipes(Path(name) / "enrollees", {"ID": IDS, "V00SITE": list("ABCC")})
        metadata = Metadata(Path(name), {"readings 00": "kxr_sq_bu00.txt", "enrollees": "enrollees.txt"})
    assert metadata.grades == oracle(rows)
    told = {finding.what: len(finding.places) for finding in metadata.noticed}
    unread = [person for person, _, _ in rows if person in ("9x", "", "Übung")]
    assert told.get("rows without an ID of digits, left out", 0) == len(unread)
    placed = [(side, grade) for person, side, grade in rows if person not in ("9x", "", "Übung")]
    unplaced = [side for side, _ in placed if side in ("3", "", MISSING)]
    assert told.get("readings of a side other than 1 (right) and 2 (left), left out", 0) == len(unplaced)
    odd = [grade for _, grade in placed if grade in ("9", "1.5", "two")]
    assert told.get("grades other than 0 to 4, taken as unknown", 0) == len(odd)
