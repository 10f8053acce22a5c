"""A study's own files in processes that do not have them on their disk."""

from __future__ import annotations

import importlib
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from fmim.own.study_file import forget_others, read_study_file, run_code
from fmim_core.records import Code, CodeFile
from tests.support.own_files import my_study

pytestmark = pytest.mark.usefixtures("own_code")


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


def test_what_the_program_itself_imported_from_the_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_the_program.py").write_text("", encoding="utf-8")
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "of_the_study.py").write_text("X = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs = importlib.import_module("of_the_program")
    module = run_code(
        code(mine="import of_the_program\ndef late():\n    import late.of_the_study as l\n    return l.X\n"), tmp_path
    )
    assert module.late() == 1
    forget_others()
    assert sys.modules.pop("of_the_program") is theirs
    assert not {"mine", "late.of_the_study"} & {*sys.modules}


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
        "settings = {'loss': {'kind': 'smooth_triplet', 'tau': 0.2}, 'margins': {'kind': 'half_cosine'}}\n"
        "made = TrainConfig.model_validate(settings)\n"
        "print(type(made.loss).__module__, made.loss.tau, made.margins.peak)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "code.json")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["my_study", "0.2", "0.25"], done.stderr
