"""Run a study from its declaration to its report."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Bar

from fmim_core.data.bank import Bank, build_bank, development_index
from fmim_core.data.source import Source
from fmim_core.records import FINAL, Record, now, read_json
from fmim_core.trial import Place
from studies import catalogue
from studies.data import find_source
from studies.plan import Plan
from studies.runner.dispatch import Dispatcher
from studies.runner.folder import (
    end_execution,
    move_aside,
    records_of_plan,
    sole_user,
    write_sample_images,
    write_study,
    write_surfaces,
)
from studies.runner.inline import run_inline
from studies.runner.progress import Progress
from studies.runner.tracker import Identity, Tracker, check_tracking_uri

DONE, SOME_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Options:
    """What the command line says; None is the preset's or the study's own."""

    study: str
    preset: str = "quick"
    data: str = "phantom"
    data_root: Path | None = None
    out: Path | None = None
    replicates: int | None = None
    seed: int = 0
    epochs: int | None = None
    backend: Literal["ray", "inline"] = "ray"
    address: str | None = None
    gpus_per_trial: float | None = None
    cpus_per_trial: float = 1.0
    tracking_uri: str = "sqlite:///runs/mlflow.db"
    fresh: bool = False
    selected: Path | None = None
    banks: Path = Path("runs/banks")

    def plan(self) -> Plan:
        """The plan: study and preset, with what the command line changes."""
        study = catalogue.find(self.study)
        if self.selected is not None:
            study = study.with_winners(read_json(_of_selection(self.selected, "selection.json")))
        preset = study.preset(self.preset)
        replicates = preset.replicates if self.replicates is None else self.replicates
        plan = Plan(study, preset, self.seed, replicates, self.epochs)
        plan.train_configs()
        return plan

    @property
    def folder(self) -> Path:
        """The study's folder, absolute."""
        return (self.out or Path("runs") / self.study).absolute()


def prepare(options: Options) -> tuple[Plan, Source, list[dict[str, Any]]]:
    """Everything that can be checked without decoding an image: the plan, the data set, and the folds' sizes.

    Raises:
        ValueError: whatever would stop a trial.
    """
    return check_plan(options.plan(), options)


def check_plan(plan: Plan, options: Options) -> tuple[Plan, Source, list[dict[str, Any]]]:
    """As `prepare`, for a plan made by hand."""
    source = find_source(options.data, options.data_root, plan.preset, options.seed)
    plan = replace(plan, data_settings=tuple(source.description.settings.items()))
    return plan, source, plan.check(development_index(source, plan.preset.image_size))


def run_study(options: Options, console: Console) -> int:
    """Run, or go on with, a study of the catalogue; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    return run_plan(options.plan(), options, console)


def run_plan(plan: Plan, options: Options, console: Console) -> int:
    """Run, or go on with, a plan; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    begun = time.perf_counter()
    uri = check_tracking_uri(options.tracking_uri)
    plan, source, folds = check_plan(plan, options)
    out = options.folder
    with _backend(options) as backend:
        plan.check_device("cuda" if backend.gpus else "cpu")
        bank = _bank(source, plan, options, console)
        _check_selected_on(bank, options.selected)
        if options.fresh and (aside := move_aside(out)):
            console.print(f"moved {out} to {aside}", highlight=False, soft_wrap=True)
        with sole_user(out):
            records = records_of_plan(out, plan, bank)
            announce(plan, backend, records, console)
            study_id = write_study(out, plan, bank, folds, _execution(options, backend, uri))
            write_surfaces(out, plan)
            parameters = {"preset": plan.preset.name, "seed": plan.seed, "data": bank.description.name}
            identity = Identity(plan.study.name, study_id, plan.preset.name, parameters)
            tracker = Tracker(uri, identity, records.values())
            code = _run_trials(plan, bank, out, backend, records, tracker, console, begun)
            write_sample_images(out, bank)
            try:
                _report(out, console)
            finally:  # whatever becomes of the report, no run may stay RUNNING
                _close(tracker, code, out, console)
    return code


def _of_selection(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise ValueError(f"--selected {folder}: there is no {name}; give the folder of a study that has selected")
    return folder / name


def _check_selected_on(bank: Bank, selected: Path | None) -> None:
    """Raise a `ValueError` if the selection was made on another data set, perhaps on these test subjects."""
    if selected is None:
        return
    data = read_json(_of_selection(selected, "study.json"))["data"]
    if data["fingerprint"] != bank.fingerprint:
        raise ValueError(f"--selected {selected} was selected on other data ({data['name']}): select on the same first")


def _execution(options: Options, backend: Backend, uri: str) -> dict[str, Any]:
    """What study.json says of this execution now; the rest follows when it has ended."""
    known = {"started_at": now(), "slots": backend.slots, "backend": options.backend, "device": backend.device}
    return known | {"tracking_uri": uri, "ended_at": None, "wall_s": None, "trials": None, "exit_code": None}


def _run_trials(
    plan: Plan,
    bank: Bank,
    out: Path,
    backend: Backend,
    records: dict[str, Record],
    tracker: Tracker,
    console: Console,
    begun: float,
) -> int:
    """All trials; wall_s in study.json counts from the start of the program's work to the end of the last trial."""
    code = DONE
    done = {trial: record for trial, record in records.items() if record["status"] in FINAL}
    with Progress(plan, backend.slots, done, console) as progress:
        dispatcher = Dispatcher(plan, bank, out, done, [progress, tracker])
        try:
            with _terminate_as_interrupt():
                backend.run(dispatcher, out, plan.trials)
        except KeyboardInterrupt:
            code = INTERRUPTED
    if code == DONE and not dispatcher.complete:
        code = SOME_FAILED
    end_execution(out, ended_at=now(), exit_code=code, wall_s=time.perf_counter() - begun, trials=dispatcher.handed_out)
    return code


def _close(tracker: Tracker, code: int, out: Path, console: Console) -> None:
    status = {DONE: "FINISHED", SOME_FAILED: "FAILED", INTERRUPTED: "KILLED"}[code]
    for trouble in tracker.close(status, [out / "report", out / "study.json", out / "selection.json"]):
        console.print(f"[yellow]MLflow:[/] {escape(trouble)} (records are complete; the next start mirrors them)")
    if code == INTERRUPTED:
        console.print("interrupted: the same command goes on from here")


def _report(out: Path, console: Console) -> None:
    from reports.build import build_report

    page = build_report(out)
    console.print(f"report: {page}", highlight=False, soft_wrap=True)


def announce(plan: Plan, backend: Backend, records: dict[str, Record], console: Console) -> None:
    """Say what will happen before it does."""
    console.print(
        f"[bold]{plan.study.title}[/] ({plan.preset.name}: {plan.preset.about})\n"
        f"{plan.search_trials} search trials ({sum(arm.space.size for arm in plan.arms)} configurations × "
        f"{plan.preset.folds} folds) and {plan.replicate_trials} replicates ({len(plan.arms)} arms × "
        f"{plan.replicates} seeds); {backend.slots} at once on {backend.device}",
        highlight=False,
    )
    done = sum(record["status"] in FINAL for record in records.values())
    if records:
        console.print(f"going on: {done} trials are done, {len(records) - done} failed and run again", highlight=False)


@dataclass(frozen=True)
class Backend:
    """Where trials run: how many at once, on what, and with which resources each (None: in this process)."""

    slots: int
    device: str
    cpus: float
    gpus: float
    ray: bool

    def run(self, dispatcher: Dispatcher, out: Path, trials: int) -> None:
        """Run all that the dispatcher hands out."""
        share = self.gpus or self.cpus
        place = Place(out, "cuda" if self.gpus else "cpu", device_share=share)
        if self.ray:
            from studies.runner.ray_backend import Resources, run_ray

            run_ray(dispatcher, place, Resources(self.cpus, self.gpus), self.slots, trials)
        else:
            run_inline(dispatcher, place, threads=max(1, int(self.cpus)))


@contextmanager
def _backend(options: Options) -> Iterator[Backend]:
    """The backend that was asked for, with its cluster up for the block.

    Raises:
        ValueError: no such resources, or no cluster at that address.
    """
    if options.backend == "inline":
        gpus = float(torch.cuda.is_available()) if options.gpus_per_trial is None else options.gpus_per_trial
        if gpus and not torch.cuda.is_available():
            raise ValueError(f"--gpus-per-trial {gpus:g}, but this machine has no GPU: leave it out")
        if options.address:
            raise ValueError("--address names a Ray cluster, but --backend inline uses none: leave one of them out")
        yield Backend(1, _device_in_words(gpus), options.cpus_per_trial, gpus, ray=False)
        return
    from studies.runner.ray_backend import Resources, allot, cluster

    with cluster(options.address):
        resources, slots = allot(Resources(options.cpus_per_trial, options.gpus_per_trial))
        yield Backend(slots, _device_in_words(resources.gpus or 0.0), resources.cpus, resources.gpus or 0.0, ray=True)


def _device_in_words(gpus: float) -> str:
    return f"{gpus:g} GPU each" if gpus else "the CPU (no GPU is used)"


def _bank(source: Source, plan: Plan, options: Options, console: Console) -> Bank:
    shown = Bar(console=console, transient=True) if console.is_terminal else nullcontext()
    with shown as bar:
        task = bar.add_task(f"decoding {source.description.name}") if bar else None

        def progress(done: int, total: int) -> None:
            if bar and task is not None:
                bar.update(task, completed=done, total=total)

        return build_bank(source, plan.preset.image_size, options.banks, progress)


@contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that the tracker says KILLED and the report is built."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
