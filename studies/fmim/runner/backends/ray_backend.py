"""The Ray backend: trials in the workers of a cluster, whose machines are all checked before the first trial starts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fmim.own.study_file import run_code
from fmim.runner.backends.backend import Backend, TrialSource, allot
from fmim.runner.backends.ray_cluster import RayCluster, in_thread
from fmim.runner.backends.ray_driver import RETRIES, Driver, InTurn, PlanSearcher, StudyTrainable, last_words, worker_s
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Code
from fmim_core.trial.trial import Trial

END_S = 10.0
"""Seconds that Tune may take to end after Ctrl-C."""


@dataclass(frozen=True)
class RayBackend(Backend):
    """Trials in the workers of a Ray cluster.

    cluster: the one that this process has joined.
    code: the study's own files, which every worker runs before its first trial; this process has run them.
    """

    cluster: RayCluster
    code: Code | None = None
    trial: type[Trial] = Trial

    @classmethod
    def of(cls, cluster: RayCluster, cpus: float, gpus: float | None, code: Code | None = None) -> RayBackend:
        """Return that of a cluster, as soon as it is there.

        Raises:
            ConnectionError: the cluster's head has gone.
            ValueError: it is not, has not what a trial asks for, or its workers cannot run this program.
        """
        logs = cluster.logs

        def checked() -> RayBackend:
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            found = cls(*allot(cpus, gpus, nodes), cluster, code)
            if cluster.address is not None:  # elsewhere may be another Python, or none of this program
                check_workers(StudyTrainable.__module__, logs)
            if code and (wrong := _faults(_nodes(), fault_of_code, code.model_dump_json(), seconds=worker_s())):
                raise ValueError(
                    "\n  ".join([f"{code.main.path} runs in this process, but not in workers of Ray:", *wrong])
                )
            return found

        return cluster.wait(in_thread(checked))

    def check(self, bank: Bank) -> None:
        """Have each node that trials may run on check its own copy of the bank, or the one that it shares.

        The node of this process is left out: the process itself has checked what is there.

        Raises:
            ConnectionError: the cluster's head has gone.
            ValueError: on some nodes the bank is missing, another one, or damaged; names them and what was found.
        """

        def faults() -> tuple[int, list[str]]:
            here = ray.get_runtime_context().get_node_id()
            nodes = [node for node in _nodes() if node["NodeID"] != here]
            return len(nodes), _faults(nodes, fault_of_bank, str(bank.path), bank.fingerprint)

        others, wrong = self.cluster.wait(in_thread(faults))
        if wrong:
            what = f"the bank in {bank.path} cannot be used on {len(wrong)} of {others + 1} nodes:"
            to_do = "Start in a folder that all nodes share, or build the bank on each node with `fmim data prepare`."
            raise ValueError("\n  ".join([what, *wrong]) + f"\n{to_do}")

    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run all trials.

        An error in the driver's part, such as a full disk, ends it and is raised.

        Raises:
            ConnectionError: the cluster's head has gone, or no worker can start or train.
        """
        os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(self.slots)  # enough to keep every slot busy, no further ahead
        settings = self.settings(out)
        given = {"trial": self.trial, "settings": settings, "threads": self.threads, "code": self.code}
        driver = Driver(trials, settings, self.cluster, self.slots)
        logs = self.cluster.logs  # beside them lies what nobody reads; where the run is ended, Tune may still write
        with tempfile.TemporaryDirectory(prefix="tune-", dir=logs.parent, ignore_cleanup_errors=True) as storage:
            tuner = tune.Tuner(
                tune.with_resources(
                    tune.with_parameters(StudyTrainable, **given),
                    tune.PlacementGroupFactory([{"CPU": self.cpus, "GPU": self.gpus}]),
                ),
                tune_config=tune.TuneConfig(
                    search_alg=PlanSearcher(driver),
                    scheduler=InTurn(),
                    num_samples=number * (1 + RETRIES),  # some may be given again
                    reuse_actors=True,
                    trial_dirname_creator=lambda trial: trial.trial_id,
                ),
                run_config=tune.RunConfig(
                    name="study",
                    storage_path=storage,
                    verbose=0,
                    stop=driver.stops,
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                    callbacks=[driver],
                ),
            )
            self._fit(tuner, driver)

    def _fit(self, tuner: tune.Tuner, driver: Driver) -> None:
        """Have Tune run everything."""
        tuning = in_thread(tuner.fit)
        try:
            self.cluster.wait(tuning)
        except ConnectionError as lost:  # it may come back: then Tune starts nothing more
            driver.end(lost)
            raise
        except KeyboardInterrupt as interrupt:
            driver.end(interrupt)
            wait([tuning], timeout=END_S)
            raise


def check_workers(module: str, logs: Path) -> None:
    """Have a worker on each node that trials may run on import the module that a trial needs.

    Args:
        logs: the folder of this node's logs.

    Raises:
        ValueError: on some nodes no worker starts, or it cannot import this program; names them and why.
    """

    # It stands in here so that Ray sends its text: it must run where nothing of ours can be imported.
    def fault_of_worker(module: str) -> str | None:
        import importlib
        import sys

        try:
            importlib.import_module(module)
        except Exception as error:
            return f"{type(error).__name__}: {error} (interpreter {sys.executable})"
        return None

    nodes = _nodes()
    if wrong := _faults(nodes, fault_of_worker, module, seconds=worker_s()):
        what = f"the workers of the Ray cluster cannot run this program on {len(wrong)} of {len(nodes)} nodes:"
        to_do = (
            "Install the same version there for that interpreter, or set PYTHONPATH before `ray start`; "
            "--backend inline needs no workers"
        )
        raise ValueError("\n  ".join([what, *wrong]) + f"\n{last_words(logs)}{to_do}")


def fault_of_code(code: str) -> str | None:
    """Return what is wrong with running a study's own files on this machine, or None; runs on a node."""
    with tempfile.TemporaryDirectory(prefix="fmim-code-") as copy:
        try:
            run_code(Code.model_validate_json(code), Path(copy), alone=True)
        except Exception as error:
            return str(error)
    return None


def fault_of_bank(path: str, fingerprint: str) -> str | None:
    """Return what is wrong with the bank in that folder of this machine, or None; runs on a node."""
    try:
        bank = Bank.open(path)
        if bank.fingerprint != fingerprint:
            return f"a different bank: its fingerprint is {bank.fingerprint[:12]} instead of {fingerprint[:12]}"
        bank.check()
    except (ValueError, OSError) as error:
        return str(error)
    return None


def _nodes() -> list[dict[str, Any]]:
    """Return those that trials may run on."""
    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]


def _faults(
    nodes: Sequence[Mapping[str, Any]], check: Callable[..., str | None], *given: str, seconds: float | None = None
) -> list[str]:
    """Return what the check finds on each node, with the node's name; None is nothing. `seconds`: for all of them."""
    remote, tasks = ray.remote(check), {}
    for node in nodes:
        on_it = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        task = remote.options(num_cpus=0, max_retries=0, scheduling_strategy=on_it).remote(*given)
        tasks[task] = f"node {node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
    late = ray.wait(list(tasks), num_returns=len(tasks), timeout=seconds)[1] if tasks else []
    found = []
    for task, name in tasks.items():
        try:
            what = f"no worker started within {seconds:.0f} s" if task in late else ray.get(task)
        except ray.exceptions.RayError as error:  # the node has gone, or its worker ended
            what = f"the check could not run: {str(error).strip().splitlines()[-1]}"
        if what:
            found.append(f"{name}: {what}")
    return found
