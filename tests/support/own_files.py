"""Files as a user writes them: a study's own, and those that a guide shows."""

from __future__ import annotations

import re
from pathlib import Path

from fmim.own.skeleton import write_skeleton
from tests.support.paths import ROOT

ONE_ARM = '''"""One arm alone, of 14 trials in the preset smoke, with a small report."""

from fmim import PRESETS, Arm, Choice, Space, Study

ARM = Arm(
    name="triplet_grid",
    search="Grid search",
    settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
    space=Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),)),
)
STUDY = Study(name="one_arm", title="One arm", question="Does it end in order?", presets=PRESETS, arms=(ARM,))
'''


def guide_files(guide: str, heading: str, below: str = "##") -> dict[str, str]:
    """The Python files that a section of a guide shows, by name."""
    page = (ROOT / guide).read_text(encoding="utf-8")
    section = page.partition(f"{below} {heading}\n")[2].partition(f"\n{below} ")[0]
    files = re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", section, re.DOTALL)
    assert len(files) == section.count("```python")
    return dict(files)


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write them."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def my_study(folder: Path, *changes: tuple[str, str]) -> Path:
    """`my_study.py` as `fmim new my_study` writes it, with texts replaced by others."""
    path, _ = write_skeleton("my_study", folder)
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    return path
