"""Command lines: random options and values, of inputs that must be answered or refused before anything is trained."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from fmim import catalogue
from tests.stress.fuzz import mutations
from tests.stress.fuzz.documents import ARMS
from tests.stress.fuzz.guard import Input, fmim
from tests.stress.fuzz.mutations import TEXTS, misspelt
from tests.support.factories import make_out
from tests.support.image_folders import GOOD, folder_of

PLAN = {
    "--preset": ("smoke", "quick"),
    "--data": ("phantom", "table.csv", "images/manifest.csv", "oai"),
    "--data-root": (".", "images"),
    "--replicates": ("1", "3"),
    "--seed": ("0", "5"),
    "--cohort": ("0", "1"),
    "--epochs": ("1", "7"),
    "--set": ("epochs=2", "folds=3", "learning_rate=1e-3", "model.kind=resnet18", "phantom.mirror_right=false"),
    "--search-splits": ("1", "2"),
    "--out": ("new", "out", "file/x"),
    "--banks": ("banks",),
    "--backend": ("inline", "ray"),
    "--address": ("127.0.0.1:1",),
    "--gpus-per-trial": ("0", "0.5"),
    "--cpus-per-trial": ("1", "64"),
}
RUN = PLAN | {"--tracking-uri": ("sqlite:///m.db", "http://["), "--selected": ("out",), "--fresh": ()}
DATA = {"--data-root": (".", "images"), "--preset": ("smoke",), "--seed": ("0",), "--metadata-only": ()}
MODEL = {"--arm": ARMS, "--seed": ("0", "1"), "--split": ("test",), "--side": ("L",), "--device": ("cpu", "cuda:9")}
TABLES = ("images/manifest.csv", "table.csv", "images", "chestxray14")
COMMANDS: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "plan": (("lambda_sweep", "margin_sensitivity", "my.py"), PLAN),
    "run --dry-run": (("lambda_sweep", "margin_sensitivity", "my.py"), RUN),
    "list": (("my.py",), {"--version": (), "-h": ()}),
    "new": (("my_other", "another"), {}),
    "status": (("out",), {}),
    "report": (("none", "images"), {}),
    "data": ((), {}),
    "data check": (TABLES, DATA | {"--csv": ("p.csv",)}),
    "data describe": (TABLES, DATA | {"--json": (), "--sheet": ("s.png", "s.jpg")}),
    "data manifest": (("chestxray14", "oai"), {"--data-root": ("images",), "--out": ("m.csv", "images/m.csv")}),
    "match": (
        ("out images/a.png", "out table.csv"),
        MODEL | {"--gallery": TABLES, "--top": ("3",), "--to": ("found",), "--all-images": ()},
    ),
    "embed": (("out images", "out table.csv"), MODEL | {"--to": ("e.csv", "e.parquet")}),
}
NUMBERS = tuple(map(str, mutations.NUMBERS))
WORDS = (*TEXTS, "-1", "99999999999999999999", "none", "file", "out", ".", "..", "--x", "a=b", "127.0.0.1:1")


def drawn(random: Random, folder: Path) -> Input:
    """One input: a command that can be, with a few words of it otherwise."""
    prepare(folder)
    command, (places, options) = random.choice(list(COMMANDS.items()))
    given = [*command.split(), *(random.choice(places).split() if places else ())]
    for option in random.sample(list(options), min(len(options), random.randint(0, 4))):
        given += [option, *([random.choice(options[option])] if options[option] else [])]
    for _ in range(random.choice((0, 1, 1, 2))):
        at = random.randrange(len(given))
        other = random.choice((*WORDS, *NUMBERS, *catalogue.names()))
        if random.random() < 0.05:
            given.insert(at, other)
        elif random.random() < 0.1:
            given[at] = misspelt(given[at], random)
        elif not given[at].startswith("--") and at >= len(command.split()):
            given[at] = given[at].partition("=")[0] + f"={other}" if "=" in given[at] else other
    arguments = [text.replace("\0", "") for text in given]

    def call() -> None:
        before = Path.cwd()
        os.chdir(folder)
        try:
            fmim(*arguments)
        finally:
            os.chdir(before)

    return Input(f"fmim {' '.join(repr(text[:60]) for text in arguments)}", call, folder)


def prepare(folder: Path) -> None:
    """What the words name: a study, tables, images, a file, and a study's file that fails."""
    if (folder / "out").exists():
        return
    make_out(folder / "out", arms=ARMS, folds=2, replicates=2)
    folder_of(folder / "images", GOOD)
    (folder / "table.csv").write_text("image,subject,months\nimages/none.png,a,0\n")
    (folder / "file").write_text("no folder\n")
    (folder / "my.py").write_text("STUDY = 1 / 0\n")
