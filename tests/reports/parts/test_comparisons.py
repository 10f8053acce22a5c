"""AutoMargin against the searches it would replace: who is compared, and with which correction."""

from pathlib import Path

import pytest

from fmim_core.records import read_json, write_json
from reports.parts.comparisons import contests
from reports.reading.results import read_results
from reports.studies.automargin_vs_grid import paired_table
from tests.support.factories import make_out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study with the nine arms of `automargin_vs_grid`."""
    return make_out(tmp_path / "out")


def sample(out: Path, arm: str) -> None:
    """Make an arm's search a random one, in study.json."""
    study = read_json(out / "study.json")
    for entry in study["arms"]:
        if entry["name"] == arm:
            entry |= {
                "searcher": {"kind": "random", "samples": len(entry["configurations"])},
                "search": "Random search",
                "label": f"{entry['loss']} + random search",
            }
    write_json(out / "study.json", study)


def test_automargin_is_compared_with_the_grid_of_its_loss_alone(out: Path) -> None:
    found = contests(read_results(out))
    assert [(contest.name, contest.rival.name) for contest in found] == [
        ("Triplet", "triplet_grid"),
        ("AdaTriplet", "adatriplet_grid"),
    ]
    assert "against" not in [column.key for column in paired_table(read_results(out)).columns]


def test_and_with_every_sampled_search_where_there_are_some(out: Path) -> None:
    sample(out, "adatriplet_q1")
    results = read_results(out)
    assert [contest.name for contest in contests(results)] == [
        "Triplet",
        "AdaTriplet against random search",
        "AdaTriplet against grid search",
    ]
    table = paired_table(results)
    assert table.title == "AutoMargin minus each other search"
    assert [(row["loss"], row["against"]) for row in table.rows] == [
        ("Triplet", "grid search"),
        ("AdaTriplet", "random search"),
        ("AdaTriplet", "grid search"),
    ]
    raw, adjusted = ([row[key] for row in table.rows] for key in ("p", "p_holm"))
    assert min(adjusted) == pytest.approx(3 * min(raw))  # Holm over all three


def test_the_margin_is_the_studys(out: Path) -> None:
    assert contests(read_results(out))[0].tost.margin == 0.01  # of studies that declare none
    write_json(out / "study.json", read_json(out / "study.json") | {"equivalence_margin": 0.05})
    assert {contest.tost.margin for contest in contests(read_results(out))} == {0.05}
