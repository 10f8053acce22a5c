"""The numbers of the README, from a finished run: `python -m tests.example RUN [FOLDER of fmim robust]`.

Writes reports/example.json, reports/example.png (the first screen of the run's page) and the part of the README between
two marks. A test compares the README with example.json.
"""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from fmim_core.records import json_text, read_json
from fmim_reports.build import build_report
from fmim_reports.parts.comparisons.answer import answer_sentence
from fmim_reports.parts.comparisons.comparison import is_claim
from fmim_reports.parts.comparisons.pipelines import headlines
from fmim_reports.parts.comparisons.words import ratio_text
from fmim_reports.reading.results import read_results
from fmim_reports.writing.formats import listed, points
from tests.support.browser import chromium, visited
from tests.support.paths import ROOT

KEPT, PICTURE, README = ROOT / "reports" / "example.json", ROOT / "reports" / "example.png", ROOT / "README.md"
BEGIN, END = "<!-- written by python -m tests.example -->\n", "<!-- until here -->\n"
WIDTH, HEIGHT = 1400, 900


def found_in(run: Path, robust: Path | None = None) -> dict[str, Any]:
    """What a run found of the comparisons of its question, and over settings."""
    results = read_results(run)
    compared = {
        one.heading: {
            "difference": points(one.value),
            "interval": f"{points(one.uncertainty.low)} to {points(one.uncertainty.high)}",
            "shown": one.shown,
            "search": ratio_text(Fraction(one.a.cost.epochs, one.b.cost.epochs)),
        }
        for one in headlines(results)
        if not is_claim(results, one)
    }
    over = {} if robust is None else read_json(robust / "report" / "summary.json")
    return {
        "study": results.study.study,
        "preset": results.study.preset,
        "trials": len(results.trials),
        "minutes": round(sum(one.wall_s or 0.0 for one in results.study.executions) / 60, 1),
        "metric": results.metric.label,
        "answer": answer_sentence(results),
        "compared": compared,
        "settings": over.get("settings", []),
        "over_settings": over.get("shown", {}),
    }


def in_words(found: dict[str, Any]) -> str:
    """The part of the README that a run writes."""
    head = ["Comparison", f"{found['metric']}, points", "95 % CI", "Shown", "Search epochs"]
    rows = [head, ["---", "---:", "---:", "---", "---:"]]
    rows += [[name, *one.values()] for name, one in found["compared"].items()]
    blocks = [
        f"**{found['answer']}**",
        "\n".join(f"| {' | '.join(row)} |" for row in rows),
        f"One `{found['preset']}` run on synthetic images: {found['trials']} trials in {found['minutes']} minutes "
        "([reports/example.json](reports/example.json)).",
    ]
    if over := found["over_settings"]:
        counts = listed(f"{shown} in {count}" for shown, count in over.items())
        repeated = f"`fmim robust` repeated it at {len(found['settings'])} settings of cohort and learning rate"
        blocks[-1] += f" {repeated}: of {sum(over.values())} comparisons it was {counts}."
    return "\n" + "\n\n".join(blocks) + "\n\n"


def with_example(readme: str, found: dict[str, Any]) -> str:
    """The README with what a run found."""
    replaced, count = re.subn(f"(?s)(?<={BEGIN}).*(?={END})", lambda _: in_words(found), readme)
    assert count == 1, f"README.md lacks the marks {BEGIN.strip()} and {END.strip()}"
    return replaced


def photograph(page: Path) -> None:
    """Keep a picture of the first screen of a page."""
    with chromium() as browser, visited(browser, page.as_uri(), WIDTH, HEIGHT) as visit:
        visit.page.screenshot(path=PICTURE)


if __name__ == "__main__":
    run, *robust = map(Path, sys.argv[1:])
    page = build_report(run)
    found = found_in(run, *robust)
    KEPT.write_text(json_text(found), encoding="utf-8")
    README.write_text(with_example(README.read_text("utf-8"), found), encoding="utf-8")
    photograph(page.absolute())
