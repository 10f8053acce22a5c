"""A study's own files run as Python runs them, and what is run is what is recorded."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fmim.own.study_file import read_study_file, run_code, run_file
from fmim_core.records import Code
from tests.support.program import Program

pytestmark = pytest.mark.usefixtures("own_code")

STUDY = """
from fmim import Arm, Study

EPSILON = 0.25
ARM = Arm(name="tri", settings={"loss": {"kind": "triplet"}, "margins": {"kind": "fixed", "epsilon": EPSILON}})
STUDY = Study(name="mine", title="Mine", question="Which?", arms=(ARM,))
"""
AS_A_SCRIPT = """import os
import sys
from pathlib import Path

from helpers_ns.values import SCALE

TOLD = Path(__file__).with_name("prior.txt").read_text(), SCALE, sys.argv, __name__
os.chdir(os.sep)
"""


def written(folder: Path, texts: dict[str, str]) -> Path:
    """Write files of these texts; return the first."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / next(iter(texts))


def test_a_file_runs_as_a_script_does_here_in_workers_and_where_only_its_copy_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, out = tmp_path / "home", tmp_path / "elsewhere" / "runs"
    path = written(home, {"mine.py": "", "helpers_ns/values.py": "SCALE = 3\n"})
    path.write_bytes(b"\xef\xbb\xbf" + AS_A_SCRIPT.replace("\n", "\r\n").encode())
    (home / "prior.txt").write_text("0.5", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    argv = sys.argv
    told = ("0.5", 3, [str(path)], "mine")
    module, code = run_file(path)
    assert (module.TOLD, Path.cwd(), sys.argv) == (told, tmp_path, argv)
    assert [file.path for file in code.files] == ["mine.py", "helpers_ns/values.py"]
    assert code.main.text.encode() == path.read_bytes()
    recorded = Code.model_validate_json(code.seen_from(out).model_dump_json())
    assert recorded.folder == "../../home"
    path.write_text("raise SystemExit\n", encoding="utf-8")  # edited since: the copy runs, beside the same data
    for given in (code, recorded):
        assert told == run_code(given, out / "code").TOLD
    path.unlink()  # without the folder the copy is all there is
    with pytest.raises(ValueError, match=r"code/mine\.py, line 7: FileNotFoundError: .*code/prior\.txt"):
        run_code(recorded, out / "code")


def test_what_is_declared_is_the_text_as_it_is_now_even_at_the_same_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    seen, texts = set(), {"mine.py": STUDY.replace("EPSILON = 0.25", "from values import EPSILON")}
    for value in ("0.25", "0.50", "0.75"):
        path = written(tmp_path, texts | {"values.py": f"EPSILON = {value}\n"})
        for file in tmp_path.glob("*.py"):
            os.utime(file, (1e9, 1e9))
        study = read_study_file(path)
        subprocess.run([sys.executable, "-m", "compileall", "-q", tmp_path], check=True)  # as if Python had run it
        assert study.code is not None
        assert study.arms[0].settings[-1] == ("margins.epsilon", float(value))
        assert study.code.files[1].text == f"EPSILON = {value}\n"
        seen.add(study.code.sha256)
    assert len(seen) == 3
    (cached,) = tmp_path.glob("__pycache__/mine.*")
    cached.unlink()
    read_study_file(path)
    assert not cached.exists()


def test_late_imports_are_recorded_wherever_the_statement_is_and_others_are_refused(tmp_path: Path) -> None:
    main = """import importlib
def late():
    from package import one
    import spaces.deep.two as two
    return one.X + two.X
def unknown():
    return importlib.import_module("four").X
def installed():
    return importlib.import_module("wave").Wave_read
"""
    texts = {
        "package/__init__.py": "from .base import X\n",
        "package/base.py": "X = 1\n",
        "package/one.py": "X = 1\ndef later():\n    from . import lazy\n    from .base import X\n",
        "package/lazy.py": "",
        "spaces/deep/two.py": "X = 2\n",
        "four.py": "X = 4\n",
        "wave.py": "",
        "venv/lib/unused.py": "",
    }
    module, code = run_file(written(tmp_path, {"mine.py": main} | texts))
    found = ["package/__init__.py", "package/base.py", "package/lazy.py", "package/one.py", "spaces/deep/two.py"]
    assert [file.path for file in code.files] == ["mine.py", *found]
    for file in tmp_path.rglob("*.py"):
        file.write_text("X = 'edited'\n", encoding="utf-8")
    for again in (False, True):  # in this process, and as a worker does
        run = run_code(code, tmp_path / "out" / "code", alone=True) if again else module
        assert run.late() == 3
        assert run.installed() is importlib.import_module("wave").Wave_read
        with pytest.raises(ImportError, match=r"four\.py is not recorded"):
            run.unknown()
        written(tmp_path / "out" / "code", {"four.py": "X = 'planted'\n"})
    loaded = run_code(code, tmp_path / "out" / "code")  # in a program that may import the file for itself
    with pytest.raises(ImportError, match=r"four\.py is not recorded"):
        loaded.unknown()
    assert loaded.late() == 3


def test_an_edited_late_file_is_another_study(tmp_path: Path) -> None:
    path = written(tmp_path, {"mine.py": STUDY + "def late():\n    import values\n", "values.py": "X = 1\n"})
    before = read_study_file(path).code
    written(tmp_path, {"values.py": "X = 2\n"})
    after = read_study_file(path).code
    assert before is not None
    assert after is not None
    assert before.main == after.main
    assert before.sha256 != after.sha256


@pytest.mark.parametrize(
    ("added", "line"),
    [
        ("import sys\nif __name__ != '__main__':\n    sys.exit()\n", 9),
        ("import argparse\nasked = argparse.ArgumentParser()\nasked.add_argument('x')\nasked.parse_args()", 10),
        ("import torch\ntorch.set_default_dtype(torch.float64)\n", 8),
        ("import fmim\nfmim.run(__file__, quiet=True)\n", 8),
        ("\nimport compiled\n", 8),
    ],
)
def test_what_cannot_be_run_alike_everywhere_is_refused_with_file_and_line(
    tmp_path: Path, fmim_here: Program, added: str, line: int
) -> None:
    written(tmp_path, {"mine.py": STUDY + added})
    (tmp_path / "compiled.pyc").touch()
    done = fmim_here("plan", "mine.py", "--preset", "smoke", cwd=tmp_path)
    assert done.returncode == 2
    assert f"mine.py, line {line}: " in done.stderr
    import torch

    assert torch.get_default_dtype() == torch.float32
    assert "mine" not in sys.modules


def test_a_program_that_declares_a_loss_can_run_itself(tmp_path: Path) -> None:
    skeleton = Path(sys.modules["fmim"].__file__ or "").parent / "own" / "skeleton" / "my_study.py"
    run = "if __name__ == '__main__':\n    from fmim import catalogue\n    print(catalogue.find(__file__))\n"
    text = skeleton.read_text(encoding="utf-8") + "import values\nprint(values.__name__)\n" + run
    path = written(tmp_path, {"my_study.py": text, "values.py": ""})
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("values\nvalues\nname='my_study'"), done.stderr
    assert done.stdout.count("'values.py'") == 1
