"""A study in a file of one's own: what is read of it, and what is said of a file that cannot be used."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.own.study_file import read_study_file
from fmim_core.losses.base import LOSSES
from tests.support.own_files import my_study
from tests.support.program import Program

pytestmark = pytest.mark.usefixtures("own_code")


def test_the_study_comes_with_the_text_of_its_file(tmp_path: Path) -> None:
    path = my_study(tmp_path)
    study = catalogue.find(str(path))
    assert [arm.name for arm in study.arms] == ["triplet_grid", "smooth"]
    assert study.code is not None
    (file,) = study.code.files
    assert (file.path, file.text) == ("my_study.py", path.read_text(encoding="utf-8"))
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert LOSSES.find("smooth_triplet").__module__ == "my_study"


def test_modules_that_it_imports_from_its_folder_belong_to_it_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "helpers" / "deep").mkdir(parents=True)
    for name in ("helpers/__init__.py", "helpers/deep/__init__.py", "unused.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "helpers" / "deep" / "numbers_of_mine.py").write_text("TAU = 0.3\n", encoding="utf-8")
    imports = ("from __future__ import annotations\n", "from __future__ import annotations\n\nimport json\n")
    path = my_study(tmp_path, imports, ("tau: PositiveFloat = 0.1", "tau: PositiveFloat = TAU"))
    text = path.read_text(encoding="utf-8").replace(
        "import math\n", "import math\nfrom helpers.deep.numbers_of_mine import TAU\n"
    )
    path.write_text(text, encoding="utf-8")
    code = read_study_file(path).code
    assert code is not None
    assert [file.path for file in code.files] == [
        "my_study.py",
        "helpers/__init__.py",
        "helpers/deep/__init__.py",
        "helpers/deep/numbers_of_mine.py",
    ]
    assert [file.module for file in code.files[1:]] == ["helpers", "helpers.deep", "helpers.deep.numbers_of_mine"]


def test_an_edited_file_is_read_anew_with_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "my_values.py").write_text("NAME = 'One'\n", encoding="utf-8")
    imported = ("import math\n", "import math\n\nfrom my_values import NAME\n")
    path = my_study(tmp_path, imported, ('title="A smooth triplet loss with a growing margin"', "title=NAME"))
    first = read_study_file(path)
    (tmp_path / "my_values.py").write_text("NAME = 'Another'\n", encoding="utf-8")
    second = read_study_file(path)
    assert (first.title, second.title) == ("One", "Another")
    assert first.code is not None
    assert second.code is not None
    assert first.code.sha256 != second.code.sha256


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('search="Growing', 'serach="Growing', "line 97: Arm: unknown field 'serach'; Arm has name, settings, search"),
        ('name="smooth"', 'name="Smooth!"', "line 96: Arm: name: must be of the form ^[a-z][a-z0-9_]{0,39}$"),
        (
            '"loss.tau"',
            '"loss.taau"',
            "line 99: arm 'smooth': loss: unknown field 'taau'; SmoothTriplet has kind, tau.",
        ),
        ("(0.05, 0.1)", "(0.05, -1)", "line 99: arm 'smooth': loss.tau: Input should be greater than 0 (given '-1')"),
        ('"half_cosine")', '"half_cosin")', "line 98: arm 'smooth': margins: unknown margins kind 'half_cosin'"),
        ('baseline="triplet_grid"', 'baseline="x"', "line 101: Study: study 'my_study' compares x, but its arms are"),
        (
            "LossOutput(mean_over",
            "LossOutput(men_over",
            "line 56: the loss SmoothTriplet(kind='smooth_triplet', tau=0.05",
        ),
        (
            "Margins(self._config.peak",
            "Margins(self._config.peek",
            "line 86: the loss SmoothTriplet(kind='smooth_triplet'",
        ),
        ("softplus((margins", "softplus(((margins", "line 55: '(' was never closed: terms = self._tau"),
        ("import math", "import mathh", "line 10: ModuleNotFoundError: No module named 'mathh'"),
        ("STUDY = Study", "STUDI = Study", "must declare a study as STUDY = Study(name=…, …); it does not"),
        ('name="my_study"', 'name="baselines"', "my_study.py: the study is called 'baselines', as one of `fmim list`"),
        ("return LossOutput(mean", "return (mean", "must return a LossOutput whose value is a scalar with a gradient"),
        ('["smooth_triplet"] = "smooth_triplet"', '["triplet"] = "triplet"', "my_study.SmoothTriplet is taken by "),
    ],
)
def test_what_is_wrong_is_told_with_file_line_field_value_and_what_is_allowed(
    tmp_path: Path, fmim_here: Program, old: str, new: str, said: str
) -> None:
    my_study(tmp_path, (old, new))
    done = fmim_here("plan", "my_study.py", "--preset", "smoke", cwd=tmp_path)
    assert done.returncode == 2
    assert (f"my_study.py, {said}" if said.startswith("line") else said) in done.stderr, done.stderr
    assert "pydantic" not in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.py", "no such file: missing.py. `fmim new missing` writes one to begin with"),
        ("my-study.py", "my-study.py cannot be imported: name it with letters, digits and _ alone, e.g. my_study.py"),
        ("torch.py", "torch.py has the name of another module, "),
        ("random.py", "random.py has the name of another module, "),
        ("latin.py", "latin.py"),
    ],
)
def test_a_file_that_cannot_be_a_module_is_refused(tmp_path: Path, fmim_here: Program, name: str, said: str) -> None:
    for written in ("my-study.py", "torch.py", "random.py"):
        (tmp_path / written).write_text("", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes(b"NAME = '\xe9'\n")
    done = fmim_here("plan", name, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_list_shows_the_studies_of_files_and_a_misspelt_one_is_told_of_them(tmp_path: Path, fmim_here: Program) -> None:
    my_study(tmp_path)
    assert "Is it as good as a grid-searched triplet loss?" in fmim_here("list", "my_study.py", cwd=tmp_path).stdout
    done = fmim_here("plan", "baseline", cwd=tmp_path)
    assert "or a file of your own, such as my_study.py. Did you mean 'baselines'?" in done.stderr
