"""Prove the versions that pyproject.toml allows: python -m tests.environments [--python 3.11 3.13] [--only lowest]

For the lowest and newest Python, it installs the lowest and the highest allowed versions afresh, runs the tests that
are not slow and the main study at `smoke`, and prints a table. The exit code is 1 if anything failed; it then names the
folder of the logs. It needs uv and 10 GB of disk, and takes 15 minutes for an environment on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.support.paths import ROOT

RESOLUTIONS = {"lowest": "lowest-direct", "highest": "highest"}
PACKAGES = ("torch", "torchvision", "ray", "optuna", "mlflow", "numpy", "scipy", "pandas", "matplotlib", "typer")


@dataclass
class Environment:
    """Packages of a resolution under a Python, installed in a folder, and what came of it."""

    python: str
    resolution: str
    folder: Path
    cells: dict[str, str] = field(default_factory=dict)
    ok: bool = False

    @property
    def name(self) -> str:
        return f"{self.resolution}@{self.python.strip('/').replace('/', '-')}"

    def prove(self, uv: str) -> None:
        """Install, test and run the main study, and remove the environment; only the logs stay."""
        began, own, out = time.monotonic(), self.folder / "bin" / "python", self.folder / "out"
        try:
            install = (uv, "pip", "install", "--resolution", RESOLUTIONS[self.resolution], "-e", ".[test]")
            if self._run("venv", uv, "venv", "--python", self.python, self.folder) or self._run("install", *install):
                self.cells["tests"] = "not installed"
                return
            self.cells["python"] = subprocess.check_output([own, "-V"], text=True).split()[1]
            listed = subprocess.check_output([uv, "-q", "pip", "list", "--format", "json", "--python", own])
            versions = {package["name"]: package["version"] for package in json.loads(listed)}
            self.cells |= {name: versions[name] for name in PACKAGES}
            results = self._log("tests").with_suffix(".xml")
            pytest = ("pytest", "-m", "not slow", "-n", "auto", "--dist", "loadfile", f"--junitxml={results}")
            tests = self._run("tests", own, "-m", *pytest)
            self.cells["tests"] = counts(results) if results.exists() else f"exit code {tests}"
            study = ("automargin_vs_grid", "--preset", "smoke", "--out", out)
            smoke = self._run("smoke", own, "-m", "fmim", "run", *study)
            self.cells |= {"exit code of smoke": str(smoke), "seconds": f"{time.monotonic() - began:.0f}"}
            self.ok = not tests and not smoke
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, step: str, *command: str | Path) -> int:
        print(f"{self.name}: {step}", file=sys.stderr, flush=True)
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        around |= {"PATH": path, "VIRTUAL_ENV": str(self.folder)}
        with self._log(step).open("wb") as log:
            return subprocess.run(command, cwd=ROOT, env=around, stdout=log, stderr=log, check=False).returncode

    def _log(self, step: str) -> Path:
        return self.folder.with_name(f"{self.name}-{step}.log")


def counts(results: Path) -> str:
    """How many tests passed and failed, from pytest's XML."""
    (suite,) = ElementTree.parse(results).getroot()
    every, *others = (int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped"))
    return f"{every - sum(others)} passed, {others[0] + others[1]} failed"


def pythons(uv: str) -> list[str]:
    """The lowest version that pyproject.toml allows, and the newest that is here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = re.sub(r"[^\d.]", "", project["requires-python"])
    listed = subprocess.check_output([uv, "python", "list", "--only-installed"], text=True, stderr=subprocess.DEVNULL)
    newest = max((int(major), int(minor)) for major, minor in re.findall(r"^cpython-(\d+)\.(\d+)\.\d+-", listed, re.M))
    return list(dict.fromkeys([lowest, "{}.{}".format(*newest)]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", metavar="VERSION", help="versions or paths (default: lowest and newest)")
    parser.add_argument("--only", choices=RESOLUTIONS, help="one resolution (default: both)")
    options = parser.parse_args()
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        parser.error("it needs uv: pip install uv")
    logs = Path(tempfile.mkdtemp(prefix="environments-"))
    resolutions = [options.only] if options.only else RESOLUTIONS
    pairs = [(python, resolution) for python in options.python or pythons(uv) for resolution in resolutions]
    proved = [Environment(*pair, logs / str(number)) for number, pair in enumerate(pairs)]
    for environment in proved:
        environment.prove(uv)
    print(f"{'':20}" + "".join(f"{environment.name:>26}" for environment in proved))
    for row in dict.fromkeys(row for environment in proved for row in environment.cells):
        print(f"{row:20}" + "".join(f"{environment.cells.get(row, '-'):>26}" for environment in proved))
    if all(environment.ok for environment in proved):
        shutil.rmtree(logs)
        return 0
    print(f"the logs of what failed: {logs}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
