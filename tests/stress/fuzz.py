"""Inputs that nobody means (settings, configurations, documents, command lines) are taken as given, or refused.

Hypothesis draws them from what is right with a few places harmed, and makes the first that did not hold smaller.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from fmim import catalogue
from fmim.cli import main
from fmim.commands.options import Options
from fmim.declare.presets import PRESETS
from fmim_core.records import (
    SCHEMA,
    CalibrationFile,
    Document,
    ProposalsFile,
    Record,
    SelectionFile,
    StudyFile,
    json_text,
)
from fmim_reports.build import build_report, write_tables
from fmim_reports.reading.results import read_results
from tests.stress.odd_inputs import NUMBERS, TEXTS, Draw, Wrong, harmed, refuses, says_what, texts
from tests.stress.outcome import Outcome
from tests.support.factories import CALIBRATION, make_out
from tests.support.manifests import GOOD_ROWS, folder_of

TIMES = 40
INPUTS = 250
"""In each time: 10,000 in all."""
ARMS = ("triplet_grid", "triplet_automargin")


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Try the kinds by turns, each time with inputs of its own."""
    for time in range(times):
        yield batch(list(KINDS)[time % len(KINDS)], INPUTS, seed + time, folder)


def batch(name: str, inputs: int, number: int, folder: Path) -> Outcome:
    """Try so many inputs of a kind; the problem is the smallest that hypothesis finds."""
    place, counts = folder / name, Counter[str]()
    place.mkdir(exist_ok=True)

    @seed(number)
    @settings(
        max_examples=inputs, derandomize=False, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def each(data: st.DataObject) -> None:
        counts["inputs"] += 1
        counts["refused"] += KINDS[name](data.draw, place)

    problem = ""
    try:
        each()
    except Wrong as wrong:
        problem = "; ".join([f"{wrong} ({wrong.__cause__!r})", *getattr(wrong, "__notes__", ())])
    return Outcome(f"{name}, seed {number}", problem, dict(counts))


FIELDS = (
    *("epochs", "learning_rate", "weight_decay", "validate_every", "histogram_bins", "keep", "precision", "compile"),
    *("model.kind", "model.embedding_dim", "model.widths", "model.weights", "model", "batches", "identity", "folds"),
    *("batches.subjects_per_batch", "batches.images_per_subject", "batches.per_epoch", "augmentation.crop"),
    *("augmentation.mean", "augmentation.std", "augmentation.flip", "image_size", "test_protocol", "phantom", "seed"),
    *("phantom.train_subjects", "phantom.mirror_right", "phantom.ageing", "loss.kind", "margins.epsilon", "epoch", "."),
)


def try_setting(draw: Draw, folder: Path) -> bool:
    """Try a study with `--set`; what was accepted is in the trainings as it was written."""
    study, preset = draw(st.sampled_from(catalogue.names())), draw(st.sampled_from([preset.name for preset in PRESETS]))
    name, text = draw(st.sampled_from(FIELDS)), draw(texts | st.sampled_from(NUMBERS).map(str))

    def call() -> None:
        plan = Options(study=study, preset=preset, changes=[f"{name}={text}"], out=folder / "out").plan()
        for made in (plan.preset.model_dump(), *(config.model_dump() for config in plan.train_configs()[:3])):
            found: Any = made
            for part in name.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if found is not None and not isinstance(found, dict | list | tuple) and not is_written(text, found):
                raise Wrong(f"{name} is {found!r}")

    return refuses(call, folder)


def is_written(text: str, found: object) -> bool:
    """Return whether a value is what the text says."""
    if isinstance(found, bool):
        return text == str(found).lower()
    if isinstance(found, int | float):
        return text.isascii() and "_" not in text and float(text) == float(found)
    return text == found


@cache
def trainings() -> list[BaseModel]:
    """Return trainings of every study, their parts, and presets."""
    found = [config for name in catalogue.names() for config in Options(study=name).plan().train_configs()[::7]]
    parts = [part for one in found for part in (one.loss, one.margins, one.model, one.batches, one.augmentation)]
    return [*found, *dict.fromkeys(parts)]


def try_configuration(draw: Draw, folder: Path) -> bool:
    """Try a configuration with fields harmed; what was accepted holds values of the types that were given."""
    config = trainings()[draw(st.integers(0, len(trainings()) - 1))]
    fields = draw(harmed({**config.model_dump()}))

    def call() -> None:
        if not says_what(fields, made := type(config).model_validate(fields)):
            raise Wrong(f"became {made!r}"[:300])

    return refuses(call, folder)


DOCUMENTS: dict[str, type[Document]] = {
    "study.json": StudyFile,
    "selection.json": SelectionFile,
    "proposals.json": ProposalsFile,
    "calibration.json": CalibrationFile,
    "records/triplet_grid.c00.fold0.json": Record,
    "records/triplet_automargin.c00.seed1.json": Record,
}


def try_document(draw: Draw, folder: Path) -> bool:
    """Try a document of a study with places harmed: by itself, and by those who read the folder."""
    out = folder / "out"
    if not out.exists():
        make_out(out, arms=ARMS, folds=2, replicates=2)
        proposals = {"triplet_grid": [{"configuration": {"epsilon": 0.1}, "values": [0.5, None]}]}
        content = {"schema": SCHEMA, "arms": proposals, "other_splits": {"1": proposals}}
        (out / "proposals.json").write_text(json_text(content))
        (out / "calibration.json").write_text(json_text(CALIBRATION))
    name = draw(st.sampled_from(list(DOCUMENTS)))
    good = (out / name).read_bytes()
    content = {key: value for key, value in json.loads(good).items() if key != "sha256"}
    given = draw(harmed(content))
    reader = draw(st.sampled_from(("itself",) * 6 + ("status",) * 3 + ("tables", "report")))

    def call() -> None:
        (out / name).write_text(json_text(given) if isinstance(given, dict) else json.dumps(given))
        try:
            if reader == "itself" and not says_what(given, made := DOCUMENTS[name].read(out / name)):
                raise Wrong(f"became {made!r}"[:300])
            if reader == "status":
                fmim("status", str(out))
            elif reader == "tables":
                write_tables(read_results(out), out / "report")
            elif reader == "report":
                build_report(out)
        finally:
            (out / name).write_bytes(good)

    return refuses(call, folder, writes=out)


PLAN = (
    *("--preset smoke", "--data images/manifest.csv", "--data oai", "--data-root images", "--replicates 3", "--seed 5"),
    *("--cohort 1", "--epochs 7", "--set epochs=2", "--set folds=3", "--set model.kind=resnet18", "--search-splits 2"),
    *("--out new", "--out out", "--out file/x", "--banks banks", "--backend inline", "--address 127.0.0.1:1"),
    *("--gpus-per-trial 0.5", "--cpus-per-trial 64", "--json"),
)
RUN = (*PLAN[:-1], "--tracking-uri sqlite:///m.db", "--tracking-uri http://[", "--selected out", "--fresh")
DATA = ("--data-root images", "--preset smoke", "--metadata-only", "--csv p.csv", "--json", "--sheet s.jpg")
MODEL = ("--arm triplet_grid", "--seed 1", "--side L", "--device cuda:9", "--gallery images", "--to e.csv")
COMMANDS = {
    **dict.fromkeys(("plan lambda_sweep", "plan my.py"), PLAN),
    **dict.fromkeys(("run margin_sensitivity --dry-run", "run my.py --dry-run"), RUN),
    **dict.fromkeys(("data check images/manifest.csv", "data describe table.csv", "data check chestxray14"), DATA),
    **dict.fromkeys(("match out images/a.png", "embed out images"), MODEL),
    **dict.fromkeys(
        ("list", "list my.py", "new another", "status out", "report none", "compare out", "data"), ("--json",)
    ),
}
WORDS = (*TEXTS, *map(str, NUMBERS), *("none", "file", "out", ".", "..", "--x", "a=b", "127.0.0.1:1"))


def try_command_line(draw: Draw, folder: Path) -> bool:
    """Try a command line that can be, with a few words of it otherwise; none of them trains."""
    if not (folder / "out").exists():
        make_out(folder / "out", arms=ARMS, folds=2, replicates=2)
        folder_of(folder / "images", GOOD_ROWS)
        (folder / "table.csv").write_text("image,subject,months\nimages/none.png,a,0\n")
        (folder / "file").write_text("no folder\n")
        (folder / "my.py").write_text("STUDY = 1 / 0\n")
    command = draw(st.sampled_from(list(COMMANDS)))
    options = draw(st.lists(st.sampled_from(COMMANDS[command]), max_size=4, unique=True))
    words, fixed = " ".join([command, *options]).split(" "), command.split(" ")
    for _ in range(draw(st.integers(0, 2))):
        at, other = draw(st.integers(1, len(words) - 1)) if len(words) > 1 else 0, draw(st.sampled_from(WORDS))
        if words[at] != "--dry-run" and not (at < len(fixed) and at < 2 and fixed[0] == "data"):
            words[at] = other.replace("\0", "")

    def call() -> None:
        with contextlib.chdir(folder):
            fmim(*words)

    return refuses(call, folder, writes=folder)


def fmim(*arguments: str) -> None:
    """Run the command line in this process; it ends by `SystemExit`."""
    before, sys.argv = sys.argv, ["fmim", *arguments]
    try:
        main()
    finally:
        sys.argv = before


KINDS: dict[str, Callable[[Draw, Path], bool]] = {
    "settings": try_setting,
    "configurations": try_configuration,
    "documents": try_document,
    "command_lines": try_command_line,
}
