"""Files as a user writes them: a study's own, those that a guide shows, and kinds registered for one test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fmim.own.study_file import forget_others
from fmim_core.augmentations.base import AUGMENTATIONS
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.losses.base import LOSSES
from fmim_core.margins.base import MARGINS
from fmim_core.models.base import BACKBONES
from fmim_core.optimizers.base import LR_SCHEDULES, OPTIMIZERS
from fmim_core.registry import KindConfig, Registry
from tests.support.paths import ROOT, TASKS

ONE_ARM = '''"""One arm alone, of 14 trials in the preset smoke, with a small report."""

from fmim import Arm, Choice, Space, Study

ARM = Arm(
    name="triplet_grid",
    search="Grid search",
    settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
    space=Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),)),
)
STUDY = Study(name="one_arm", title="One arm", question="Does it end in order?", arms=(ARM,))
'''


def guide_files(guide: str, heading: str | None = None) -> dict[str, str]:
    """The Python files that a guide, or a section of it, shows, by name."""
    section = (TASKS / f"{guide}.md").read_text(encoding="utf-8")
    if heading is not None:
        section = section.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    files = re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", section, re.DOTALL)
    assert len(files) == section.count("```python")
    return dict(files)


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write them."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def my_study(folder: Path, *changes: tuple[str, str]) -> Path:
    """`my_study.py` as `fmim new my_study` writes it, with texts replaced by others."""
    path = folder / "my_study.py"
    text = (ROOT / "studies" / "fmim" / "own" / "skeleton" / path.name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    return path


def register_for_a_test(registry: Registry, cls: type[KindConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the class until the test is over."""
    keep_registered(registry, monkeypatch)
    registry.register(cls)


def keep_registered(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the test is over, the kinds there are now are the only ones."""
    monkeypatch.setattr(registry, "_classes", {kind: registry.find(kind) for kind in registry.kinds()})


@pytest.fixture
def own_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests that run a study's own files: modules and kinds of theirs are gone when the test is over."""
    for registry in (AUGMENTATIONS, LOSSES, MARGINS, BACKBONES, OPTIMIZERS, LR_SCHEDULES, DATA_SETS):
        keep_registered(registry, monkeypatch)
    yield
    forget_others()
