"""The numbers of the README, from a finished run: `python -m tests.example RUN [FOLDER of fmim robust]`.

Writes reports/example.json, reports/example.png (the head of the run's page) and what stands in the README between two
marks. A test compares the README with example.json.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from fmim_core.records import json_text, read_json
from fmim_reports.build import build_report
from fmim_reports.parts.comparisons.varied import variations_table
from fmim_reports.parts.comparisons.words import plain_sentences
from fmim_reports.reading.results import read_results
from fmim_reports.writing.formats import points
from tests.support.browser import chromium, visited
from tests.support.paths import ROOT

KEPT, PICTURE, README = ROOT / "reports" / "example.json", ROOT / "reports" / "example.png", ROOT / "README.md"
BEGIN, END = "<!-- written by python -m tests.example -->\n", "<!-- until here -->\n"
WIDTH, HEIGHT = 880, 1150


def found_in(run: Path, robust: Path | None = None) -> dict[str, Any]:
    """What a run found of the comparisons of its question, on the test set, on the folds, and over settings."""
    results = read_results(run)
    asked = len(results.study.comparisons)
    on_folds: dict[str, dict[str, str]] = {}
    for row in variations_table(results).rows:
        pair = row["arm"].name, row["against"].name
        if pair in results.study.comparisons and row["difference"] is not None:
            values = on_folds.setdefault(f"{row['arm'].label} minus {row['against'].label}", {})
            values[row["setting"]] = points(row["difference"])
    over = {} if robust is None else read_json(robust / "report" / "summary.json")
    return {
        "study": results.study.study,
        "preset": results.study.preset,
        "trials": len(results.trials),
        "minutes": round(sum(one.wall_s or 0.0 for one in results.study.executions) / 60, 1),
        "metric": results.metric.label,
        "sentences": plain_sentences(results)[:asked],
        "on_folds": on_folds,
        "settings": over.get("settings", []),
        "over_settings": over.get("sentences", [])[:asked],
    }


def in_words(found: dict[str, Any]) -> str:
    """The part of the README that a run writes."""
    settings = list(dict.fromkeys(setting for values in found["on_folds"].values() for setting in values))
    rows = [["difference on the folds", *settings], ["---", *["---:"] * len(settings)]]
    rows += [[name, *(values.get(one, "–") for one in settings)] for name, values in found["on_folds"].items()]
    blocks = [
        f"**What came out** in `{found['preset']}`, on the embedded phantoms (one run: {found['trials']} trials in "
        f"{found['minutes']} minutes, kept as [reports/example.json](reports/example.json)):",
        "\n".join(f"- {sentence}" for sentence in found["sentences"]),
        f"Would the answer change? In percentage points of validation {found['metric']}, with the selected "
        "configurations trained once more on the folds:",
        "\n".join(f"| {' | '.join(row)} |" for row in rows),
    ]
    if found["over_settings"]:
        blocks += [
            f"`fmim robust` ran the whole study at {len(found['settings'])} settings ({', '.join(found['settings'])}):",
            "\n".join(f"- {sentence}" for sentence in found["over_settings"]),
        ]
    return "\n" + "\n\n".join(blocks) + "\n\n"


def with_example(readme: str, found: dict[str, Any]) -> str:
    """The README with what a run found."""
    replaced, count = re.subn(f"(?s)(?<={BEGIN}).*(?={END})", lambda _: in_words(found), readme)
    assert count == 1, f"README.md lacks the marks {BEGIN.strip()} and {END.strip()}"
    return replaced


def photograph(page: Path) -> None:
    """Keep a picture of the head of a page."""
    with chromium() as browser, visited(browser, page.as_uri(), WIDTH, HEIGHT) as visit:
        visit.page.screenshot(path=PICTURE)


if __name__ == "__main__":
    run, *robust = map(Path, sys.argv[1:])
    page = build_report(run)
    found = found_in(run, *robust)
    KEPT.write_text(json_text(found), encoding="utf-8")
    README.write_text(with_example(README.read_text("utf-8"), found), encoding="utf-8")
    photograph(page.absolute())
