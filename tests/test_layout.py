"""Who may import whom, read from the syntax tree; and what must not be named like a package."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES = {
    "fmim": ROOT / "studies" / "fmim",
    "fmim_core": ROOT / "fmim_core",
    "fmim_spaces": ROOT / "search_spaces" / "fmim_spaces",
    "fmim_reports": ROOT / "reports" / "fmim_reports",
}


def imports(path: Path, top_only: bool = False) -> Iterator[str]:
    """Modules that a file imports, anywhere in it or at its top level only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files(package: str) -> list[Path]:
    """Its modules; what `fmim new` writes is a user's."""
    return sorted(path for path in PACKAGES[package].rglob("*.py") if "my_study" not in path.stem)


def imported_files() -> dict[Path, set[Path]]:
    """Each of the packages' files, with those that it imports anywhere in it."""
    by_name = {
        ".".join((package, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__"): path
        for package, root in PACKAGES.items()
        for path in files(package)
    }
    found: dict[Path, set[Path]] = {path: set() for path in by_name.values()}
    for path in found:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import():
                    names = [alias.name for alias in node.names]
                case ast.ImportFrom(module=str(module)):
                    whole = [f"{module}.{alias.name}" for alias in node.names]
                    names = [name if name in by_name else module for name in whole]
                case _:
                    continue
            found[path] |= {by_name[name] for name in names if name in by_name} - {path}
    return found


def offenders(paths: list[Path], banned: set[str], top_only: bool = False) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in imports(path, top_only)
        if name.partition(".")[0] in banned
    ]


@pytest.mark.parametrize(
    ("package", "banned"),
    [
        ("fmim_core", {"ray", "optuna", "mlflow", "fmim", "fmim_reports", "fmim_spaces", "seaborn"}),
        ("fmim_spaces", {"torch", "ray", "optuna", "mlflow", "fmim", "fmim_reports"}),
        ("fmim_reports", {"torch", "torchvision", "ray", "optuna", "mlflow", "fmim", "fmim_spaces"}),
    ],
)
def test_imports_go_one_way(package: str, banned: set[str]) -> None:
    assert offenders(files(package), banned) == []


def test_folders_import_one_way() -> None:
    """No circle of files, nor of folders: a folder's own files are either below all its folders or above them."""
    by_file = imported_files()
    by_folder: dict[Path, set[Path]] = {}
    for path, found in by_file.items():
        by_folder.setdefault(path.parent, set()).update({other.parent for other in found} - {path.parent})
    TopologicalSorter(by_file).prepare()  # a circle raises CycleError, which names it
    TopologicalSorter(by_folder).prepare()


def test_a_plan_passes_few_functions_on_its_way() -> None:
    """Whoever follows a plan from `run_plan` reads each of those that take one."""
    passed = [
        f"{path.name}: {node.name}"
        for path in files("fmim")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for argument in node.args.args
        if isinstance(argument.annotation, ast.Name) and argument.annotation.id == "Plan"
    ]
    assert len(passed) <= 35, passed


def test_spaces_need_what_a_configuration_is_and_nothing_else_of_the_core() -> None:
    names = {name for path in files("fmim_spaces") for name in imports(path) if name.startswith("fmim_core")}
    assert names == {"fmim_core.config", "fmim_core.seeding"}


def test_ray_optuna_and_mlflow_are_the_runners_alone() -> None:
    outside = [path for path in files("fmim") if "runner" not in path.relative_to(ROOT).parts]
    assert offenders(outside, {"ray", "optuna", "mlflow"}) == []


def test_ray_and_mlflow_are_not_imported_for_a_plan() -> None:
    runner = [path for path in files("fmim") if path.name not in ("ray_driver.py", "ray_backend.py")]
    assert offenders(runner, {"ray", "mlflow"}, top_only=True) == []


def test_reports_need_the_records_and_the_metric_names_only() -> None:
    names = {name for path in files("fmim_reports") for name in imports(path) if name.startswith("fmim_core")}
    used = {".".join(name.split(".")[:2]) for name in names}
    assert used <= {"fmim_core.config", "fmim_core.metric_names", "fmim_core.records", "fmim_core.suggestions"}


def test_the_folder_of_run_py_hides_no_package() -> None:
    """Python puts it first on the path."""
    beside = {path.stem for path in (ROOT / "studies").iterdir() if path.is_dir() or path.suffix == ".py"}
    assert beside - {"__pycache__"} == {"fmim", "run"}


def test_no_package_has_a_name_that_a_folder_of_ones_own_project_has() -> None:
    """People call their folders `studies` and `reports`; a package of that name would hide theirs, or theirs ours."""
    assert [name for name in PACKAGES if not name.startswith("fmim")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_can_bring_code_of_its_own(package: str) -> None:
    """ruff refuses pickles; torch and NumPy refuse them in files unless they are told otherwise."""
    told_otherwise = re.compile(r"weights_only=False|allow_pickle=True|load_state_dict_from_url|get_state_dict\(")
    assert [path for path in files(package) if told_otherwise.search(path.read_text(encoding="utf-8"))] == []


def test_files_stay_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [path for package in PACKAGES for path in files(package)] + sorted((ROOT / "tests").rglob("*.py"))
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert long == {}


def test_folders_stay_small() -> None:
    """About 12 modules side by side can be taken in at a glance."""
    folders = Counter(path.parent for package in PACKAGES for path in files(package) if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > 12} == {}


def test_every_package_is_installed() -> None:
    """An editable install finds folders without `__init__.py`; a built one leaves them out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    assert settings["include"] == ["fmim*"]
    assert {ROOT / folder for folder in settings["where"]} == {folder.parent for folder in PACKAGES.values()}
    folders = {path.parent for package in PACKAGES for path in files(package)}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_every_package_that_is_imported_is_declared() -> None:
    """Not left to come with another package, which may stop needing it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(name for extra in extras if extra != "test" for name in extras[extra])]
    declared = {re.split(r"[\[>=<]", requirement)[0].replace("-", "_") for requirement in requirements}
    imported = {name.partition(".")[0] for package in PACKAGES for path in files(package) for name in imports(path)}
    named_otherwise = {"PIL": "pillow", "pynvml": "nvidia_ml_py", "sklearn": "scikit_learn"}
    packages = {named_otherwise.get(name, name) for name in imported - sys.stdlib_module_names - PACKAGES.keys()}
    assert packages - declared == set()
