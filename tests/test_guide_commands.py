"""What the guides show is run as it is written, in a folder that has what they speak of.

Files that a guide writes are run elsewhere: those of one's own in `tests/studies/own/test_guide.py`, parts of a
report in `tests/reports/test_contents.py`. Set-up (pip, pytest, ruff) is `.ci/run`'s.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import matplotlib
import pytest
import torch
from PIL import Image
from torchvision.models import ResNet18_Weights, resnet18

from fmim.data.sources import find_listing
from fmim_core.data.sets.manifest import read_settings
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.models.torchvision_networks import TorchvisionBackbone
from tests.support.classes import class_folders, cub
from tests.support.manifests import folder_of
from tests.support.mini_study import MINI_STUDY, mini_plan, options_in, run_here, tracked_in
from tests.support.nih_folders import longitudinal
from tests.support.paths import GUIDES, ROOT
from tests.support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures", "own_code")]

SET_UP = ("python3 -m venv", "pip install", "ruff check", "pytest ", "mkdocs ", "python -m tests.")
DOWNLOADS = ("model.weights=pretrained", "model.weights=densenet121-res224-all")
"""Of commands that fetch published weights, which a test must not."""


def blocks(language: str) -> list[tuple[str, str]]:
    """Return each block of a language: where it stands, and its text."""
    return [
        (f"{guide.relative_to(ROOT)}-{number}", text)
        for guide in GUIDES
        for number, text in enumerate(re.findall(rf"```{language}\n(.*?)```", guide.read_text("utf-8"), re.DOTALL))
    ]


def commands() -> list[tuple[str, str]]:
    """Every command of this program in the guides, without its remark."""
    lines = [(where, line) for where, text in blocks("sh") for line in text.replace("\\\n", " ").splitlines()]
    told = [(where, line.partition("  #")[0].strip()) for where, line in lines]
    return [(where, line) for where, line in told if not line.startswith(SET_UP)]


def is_file(code: str) -> bool:
    """Say if a block is a file that a guide writes."""
    return code.startswith(('"""', "# reports/"))


PYTHON = blocks("python")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with images, their manifest, downloads of ChestX-ray14 and CUB, class folders, and finished studies."""
    folder = tmp_path_factory.mktemp("guides")
    phantom = PhantomSource(PhantomConfig(train_subjects=36, test_subjects=12, months=(0, 12)))
    (folder / "images").mkdir()
    for row in phantom.index.index:
        Image.fromarray(phantom.read(row, 40)).save(folder / "images" / f"{row}.png")
    phantom.index.assign(image=[f"{row}.png" for row in phantom.index.index]).to_csv(
        folder / "images" / "manifest.csv", index=False
    )
    shutil.copy(folder / "images" / "0.png", folder / "unknown.png")
    longitudinal(folder / "DIR", subjects=60, visits=5)
    class_folders(folder / "CLASSES", 64)
    cub(folder, range(68, 132))
    data, out = folder / "images" / "manifest.csv", folder / "runs" / "mine"
    out.parent.mkdir()
    options = options_in(folder, data=str(data), out=out, tracking_uri=tracked_in(out.parent))
    study = MINI_STUDY.model_copy(update={"baseline": "triplet_grid"})
    assert run_here(replace(mini_plan(epochs=1), study=study), options) == 0
    shutil.copytree(folder / "runs" / "mine", folder / "runs" / "automargin_vs_grid")
    return folder


@pytest.fixture
def published_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in torch's cache with the name of torchvision's weights, as if they had been downloaded and were these."""
    cache = tmp_path / "hub" / "checkpoints"
    cache.mkdir(parents=True)
    torch.save(resnet18().state_dict(), cache / Path(ResNet18_Weights.IMAGENET1K_V1.url).name)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(TorchvisionBackbone, "published_sha256", lambda model, file: "")


def test_every_command_works(place: Path, fmim_here: Program, published_weights: None, tmp_path: Path) -> None:
    """One after the other, as a reader would; of runs everything but the training (what `fmim new` writes runs in
    `tests/studies/own/test_skeleton.py`)."""
    shutil.copytree(place, tmp_path / "here")
    told = [(where, line) for where, line in commands() if not any(word in line for word in DOWNLOADS)]
    assert len(told) >= 12
    failed = []
    for number, (where, line) in enumerate(told):
        words = shlex.split(line.replace("NAME", "chestxray14"))
        program, arguments = words[0], words[1:]
        if program == "python":
            assert arguments.pop(0) == "studies/run.py", line
        else:
            assert program == "fmim", (where, line)
        if arguments[0] == "ui":  # it serves until it is ended (tests/studies/runner/tracking/test_ui.py)
            continue
        if arguments[0] == "new":  # guides use a name more than once
            for name in (f"{arguments[1]}.py", f"test_{arguments[1]}.py"):
                (tmp_path / "here" / name).unlink(missing_ok=True)
        if "--calibrate" in arguments:
            arguments.remove("--calibrate")
        if program == "python" or arguments[0] in ("run", "paper", "robust"):
            arguments = [one for one in arguments if one != "--dry-run"] + ["--dry-run"]
        if "--to" in arguments:
            arguments[arguments.index("--to") + 1] = f"{number}-{arguments[arguments.index('--to') + 1]}"
        done = fmim_here(*arguments, cwd=tmp_path / "here")
        failed += [(where, line, done.stderr)] if done.returncode else []
    assert failed == []


@pytest.mark.parametrize("code", [pytest.param(code, id=where) for where, code in PYTHON if not is_file(code)])
def test_every_python_block_runs(code: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    matplotlib.use("agg")
    exec(compile(code, "guide", "exec"), {"__name__": "guide"})


@pytest.mark.parametrize("code", [pytest.param(code, id=where) for where, code in PYTHON])
def test_every_python_block_passes_ruff(code: str) -> None:
    for command in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        run = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(ROOT / "guide.py"), "-"]
        assert subprocess.run(run, input=code, capture_output=True, text=True).returncode == 0


def test_every_table_and_its_settings_can_be_read(tmp_path: Path) -> None:
    for number, (_, text) in enumerate(blocks("csv")):
        header, *rows = text.splitlines()
        table = folder_of(tmp_path / str(number), rows, header)
        findings = find_listing(str(table), None, for_study=False).findings
        assert findings.errors == []
    settings = [text for _, text in blocks("toml") if "interval" in text]
    assert len(settings) == 1
    (tmp_path / "x.toml").write_text(settings[0], encoding="utf-8")
    read = read_settings(tmp_path / "x.toml")[0].model_dump()
    assert read == {"mean": 0.5, "std": 0.25, "interval": "week", "channels": 1}


def test_the_entry_points_of_a_package_are_written_as_python_reads_them() -> None:
    (text,) = [text for _, text in blocks("toml") if "entry-points" in text]
    groups = tomllib.loads(text)["project"]["entry-points"]
    assert set(groups) == {"fmim.kinds", "fmim.studies"}
    for group, entries in groups.items():
        for name, value in entries.items():
            assert EntryPoint(name, value, group).module.startswith("my_package")
