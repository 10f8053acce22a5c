"""A study in a file of one's own: what is read of it and said of a faulty one, and its copy where the file is not."""

from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.own.study_file import forget_others, read_study_file, run_code, run_file
from fmim_core.losses.base import LOSSES
from fmim_core.records import Code, CodeFile
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
        "from typing import Literal\n", "from typing import Literal\n\nfrom helpers.deep.numbers_of_mine import TAU\n"
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


def test_an_edited_file_is_read_anew_with_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "my_values.py").write_text("NAME = 'One'\n", encoding="utf-8")
    imported = ("from typing import Literal\n", "from typing import Literal\n\nfrom my_values import NAME\n")
    path = my_study(tmp_path, imported, ('title="A smooth triplet loss"', "title=NAME"))
    first = read_study_file(path)
    (tmp_path / "my_values.py").write_text("NAME = 'Another'\n", encoding="utf-8")
    second = read_study_file(path)
    assert (first.title, second.title) == ("One", "Another")
    assert first.code != second.code


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('search="Two', 'serach="Two', "line 40: Arm: unknown field 'serach'; Arm has name, settings, search"),
        ('name="smooth"', 'name="Smooth!"', "line 39: Arm: name: must match ^[a-z][a-z0-9_]{0,39}$"),
        (
            '"loss.tau"',
            '"loss.taau"',
            "line 42: arm 'smooth': loss: unknown field 'taau'; SmoothTriplet has kind",
        ),
        ("(0.05, 0.1)", "(0.05, -1)", "line 42: arm 'smooth': loss.tau: Input should be greater than 0 (given '-1')"),
        ('"fixed", "epsilon"', '"fixd", "epsilon"', "line 41: arm 'smooth': margins: unknown margins kind 'fixd'"),
        ('"epsilon": 0.25', '"epsilom": 0.25', "line 41: arm 'smooth': margins: unknown field 'epsilom'; FixedMargins"),
        ('baseline="triplet_grid"', 'baseline="x"', "line 44: Study: study 'my_study' compares x, but its arms are"),
        (
            "LossOutput(mean_over",
            "LossOutput(men_over",
            "line 29: the loss SmoothTriplet(kind='smooth_triplet', tau=0.05",
        ),
        ("softplus((margins", "softplus(((margins", "line 28: '(' was never closed: terms = self.tau"),
        ("from torch.nn.", "from torch.mn.", "line 13: ModuleNotFoundError: No module named 'torch.mn'"),
        ("STUDY = Study", "STUDI = Study", "must declare a study as STUDY = Study(name=…, …); it has no STUDY"),
        (
            'name="my_study"',
            'name="baselines"',
            "my_study.py: the study's name 'baselines' is taken by a study of `fmim list`",
        ),
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
        ("missing.py", "no such file: missing.py. `fmim new missing` writes one to start from"),
        ("my-study.py", "my-study.py cannot be imported: name it with only letters, digits and _, e.g. my_study.py"),
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


def code(**texts: str) -> Code:
    return Code(files=tuple(CodeFile.of(name.replace("__", "/") + ".py", text) for name, text in texts.items()))


def test_recorded_modules_import_each_other_and_are_replaced_by_those_of_the_next(tmp_path: Path) -> None:
    first = code(study_of_mine="from values_of_mine.deep import X\n", values_of_mine__deep="X = 1\n")
    packages = CodeFile.of("values_of_mine/__init__.py", "")
    for text, expected in (("X = 1\n", 1), ("X = 2\n", 2)):
        deep = CodeFile.of("values_of_mine/deep.py", text)
        module = run_code(Code(files=(first.main, packages, deep)), tmp_path / "code")
        assert expected == module.X
        assert module.__file__ == str(tmp_path / "code" / "study_of_mine.py")


def test_an_error_in_a_recorded_module_shows_its_line(tmp_path: Path) -> None:
    module = run_code(code(study_of_mine="def fails():\n    return 1 / 0  # here\n"), tmp_path)
    with pytest.raises(ZeroDivisionError) as caught:
        module.fails()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (str(tmp_path / "study_of_mine.py"), 2)


def test_a_text_that_is_not_that_of_its_digest_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the text of a\.py is not that of its SHA-256"):
        CodeFile(path="a.py", sha256=CodeFile.of("a.py", "x = 1\n").sha256, text="x = 2\n")


def test_a_copy_that_is_not_as_recorded_is_written_anew_and_a_path_out_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study_of_mine.py").write_text("X = 'edited'\n", encoding="utf-8")
    assert run_code(code(study_of_mine="X = 'recorded'\n"), tmp_path).X == "recorded"
    for path in ("../a.py", "/a.py", "a/../../b.py"):
        with pytest.raises(ValueError, match="String should match pattern"):
            CodeFile.of(path, "")


def test_what_the_program_itself_imported_from_the_folder_is_its_own_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_the_program.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs = importlib.import_module("of_the_program")
    (tmp_path / "of_the_program.py").write_text("X = 1  # edited since\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("from of_the_program import X\n", encoding="utf-8")
    assert run_file(tmp_path / "mine.py")[0].X == 1
    forget_others()
    assert sys.modules.pop("of_the_program") is theirs
    assert "mine" not in sys.modules


@pytest.mark.slow
def test_a_trial_can_be_made_where_only_the_text_is(tmp_path: Path) -> None:
    """As a worker on another machine does: a process with neither the file nor its folder."""
    recorded = read_study_file(my_study(tmp_path)).code
    assert recorded is not None
    (tmp_path / "code.json").write_text(recorded.model_dump_json(), encoding="utf-8")
    (tmp_path / "my_study.py").unlink()
    program = (
        "import sys; from pathlib import Path\n"
        "from fmim.own.study_file import run_code\n"
        "from fmim_core.records import Code\n"
        "from fmim_core.training.config import TrainConfig\n"
        "run_code(Code.model_validate_json(Path(sys.argv[1]).read_text()), Path(sys.argv[1], 'code'))\n"
        "settings = {'loss': {'kind': 'smooth_triplet', 'tau': 0.2}, 'margins': {'kind': 'fixed', 'epsilon': 0.25}}\n"
        "made = TrainConfig.model_validate(settings)\n"
        "print(type(made.loss).__module__, made.loss.tau, made.margins.epsilon)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "code.json")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["my_study", "0.2", "0.25"], done.stderr
