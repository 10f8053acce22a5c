"""The commands of the guides for clusters and servers, as far as one machine allows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.own_files import ONE_ARM
from tests.support.paths import TASKS
from tests.support.program import free_port, wait_for

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
TEXT = "".join((TASKS / name).read_text("utf-8") for name in ("clusters.md", "mlflow.md"))
BASH = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
COMMAND = re.compile(r"\b(ray|mlflow) (start|status|get-auth-token|server)\b([^#;|\n]*)")


def test_ray_and_mlflow_have_the_options_that_the_guides_give_them() -> None:
    from mlflow.cli import cli as mlflow
    from ray.scripts.scripts import cli as ray

    told: dict[tuple[str, str], set[str]] = {}
    for text in BASH:
        for program, command, arguments in COMMAND.findall(text.replace("\\\n", " ")):
            told.setdefault((program, command), set()).update(re.findall(r"--[a-z-]+", arguments))
    assert len(told) == 4
    for (program, command), options in told.items():
        known = {"ray": ray, "mlflow": mlflow}[program].commands[command].params
        assert options - {name for one in known for name in one.opts} == set()


class Slurm:
    """What the guide's script asks of SLURM, on this machine alone: every node of a job is another name of it."""

    def __init__(self, folder: Path) -> None:
        (script,) = [text for text in BASH if "#SBATCH" in text]
        changes = (
            ("/shared/project", str(folder)),
            ("automargin_vs_grid --preset full --data images/manifest.csv", "one_arm.py --preset smoke"),
            ("--gpus-per-trial 0.5 --cpus-per-trial 4", "--gpus-per-trial 0 --cpus-per-trial 1"),
            ("/tmp/ray-", f"{folder}/ray-"),
        )
        for old, new in changes:
            assert old in script
            script = script.replace(old, new)
        self.folder, self.script, self.log = folder, folder / "study.sbatch", folder / "log"
        self.script.write_text(script, encoding="utf-8")
        (folder / "one_arm.py").write_text(ONE_ARM, encoding="utf-8")
        (folder / ".venv").mkdir()
        (folder / ".venv" / "bin").symlink_to(BIN)
        (folder / "bin").mkdir()
        self._program("srun", 'while [[ $1 == -* ]]; do shift; done; exec "$@"')
        self._program("scontrol", "printf '%s\\n' ${NODES}")

    def _program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def submit(self, *nodes: str) -> subprocess.Popen[bytes]:
        job = {"SLURM_JOB_ID": str(free_port() % 10000), "SLURM_JOB_NODELIST": "these", "SLURM_CPUS_PER_TASK": "1"}
        job |= {"SLURM_JOB_NUM_NODES": str(len(nodes)), "NODES": " ".join(nodes)}
        job |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | job
        with self.log.open("a") as told:
            command = ["bash", self.script]
            return subprocess.Popen(command, stdout=told, stderr=told, env=environment, start_new_session=True)

    def end(self, job: subprocess.Popen[bytes]) -> int:
        """Wait for a job's script, end the rest of the job as SLURM does, and return the script's exit code."""
        code = job.wait(timeout=600)
        self.end_all()
        return code

    def end_all(self) -> None:
        for process in psutil.process_iter(["cmdline"]):
            if str(self.folder) in " ".join(process.info["cmdline"] or ()):
                process.kill()


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    """In a folder with a name short enough for Ray's sockets."""
    started = Slurm(Path(tempfile.mkdtemp(prefix="sl-", dir="/tmp")))
    yield started
    started.end_all()
    shutil.rmtree(started.folder, ignore_errors=True)


def test_the_script_stops_at_the_time_limit_with_its_records_and_resumes_on_other_nodes(slurm: Slurm) -> None:
    out = slurm.folder / "runs" / "mine"
    job = slurm.submit("localhost", "127.0.0.1")
    wait_for(lambda: any(out.glob("records/*.json")), job, slurm.log, seconds=600)
    job.send_signal(signal.SIGTERM)
    assert slurm.end(job) == 130, slurm.log.read_text()
    assert "2 at once" in slurm.log.read_text()
    assert slurm.log.read_text().count("interrupted; to resume: fmim run one_arm.py") == 1
    assert "SIGTERM received" not in slurm.log.read_text()  # Ray's own handler shows a stack
    before = {path.name: path.read_bytes() for path in out.glob("records/*.json")}
    assert 1 <= len(before) < 14
    assert slurm.end(slurm.submit("localhost")) == 0, slurm.log.read_text()
    after = {path.name: path.read_bytes() for path in out.glob("records/*.json")}
    assert len(after) == 14
    assert before.items() <= after.items()
