"""What is in a study's folder, and whether it belongs to the plan."""

from __future__ import annotations

import hashlib
import io
import subprocess
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from PIL import Image

from fmim.declare.surface import Surface
from fmim.plan import Plan
from fmim.runner.folder.differences import check_arms, differences
from fmim.runner.search.proposals import Proposals, proposals_path
from fmim.runner.search.proposed_again import proposed_again
from fmim.runner.search.selection import Outcome
from fmim_core.data.bank.bank import Bank
from fmim_core.fingerprint import fingerprint
from fmim_core.losses.surface import loss_surface
from fmim_core.margins.base import Margins
from fmim_core.records import (
    CalibrationFile,
    Damaged,
    DataEntry,
    Execution,
    FoldEntry,
    PlannedTrials,
    Record,
    StudyFile,
    SubsetSummary,
    calibration_path,
    now,
    queries_path,
    read_records,
    set_aside,
    study_path,
    write_bytes,
    write_json,
)
from fmim_core.trial.hardware import environment
from fmim_core.trial.spec import RESULTS_VERSION


def outcomes_of_plan(
    out: Path, plan: Plan, bank: Bank, tell: Callable[[str], None] = lambda warning: None
) -> dict[str, Outcome]:
    """The outcomes of the plan's trials that have a record in the folder, by trial; other records are left alone.

    A damaged record is set aside, and so are damaged queries, which `tell` is told. Then its trial has no outcome, nor
    has a replicate whose queries are gone from beside its record: it runs again, and writes both.

    Raises:
        ValueError: a record has the name of a planned trial, but another configuration, data set or seed; or an arm
            was searched otherwise.
    """
    proposals = _proposals(out, plan, tell)
    old = read_study(out)
    check_arms(out, old, plan, proposals)
    planned = {spec.id: spec for spec in plan.possible(bank, proposals.of)}
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    outcomes: dict[str, Outcome] = {}
    lost, foreign = [], []

    def move(path: Path, damaged: Damaged) -> None:
        tell(f"{damaged}: moved to {set_aside(path).name}, and its trial runs again")

    for record in read_records(out, move):
        spec = planned.get(record.trial)
        if spec is not None:
            if _has_its_queries(out, record, tell):
                outcomes[spec.id] = Outcome.of(record, with_history=bool(spec.rungs))
            if record.fingerprint != spec.fingerprint:
                foreign.append(spec.id)
        elif record.arm in sampled and record.search_split < plan.search_splits:
            lost.append(record.trial)
    if lost:
        raise ValueError(
            f"{out} holds records of configurations that its proposals.json does not have (e.g. {lost[0]}): put the "
            "file back, or --fresh to move the folder aside and start over"
        )
    if foreign:
        what = f"; {told}" if old and (told := differences(old, _study(plan, bank))) else ""
        raise ValueError(
            f"{out} holds {len(foreign)} records of another plan (e.g. {foreign[0]}{what}): "
            "give another --out, or --fresh to move them aside and start over"
        )
    return outcomes


def _has_its_queries(out: Path, record: Record, tell: Callable[[str], None]) -> bool:
    """Whether a record that names a file of queries has it, whole."""
    if record.queries_sha256 is None:
        return True
    path = queries_path(out, record.trial)
    if not path.exists():
        return False
    if hashlib.sha256(path.read_bytes()).hexdigest() == record.queries_sha256:
        return True
    tell(f"{path} is damaged (another SHA-256): moved to {set_aside(path).name}, and its trial runs again")
    return False


def _proposals(out: Path, plan: Plan, tell: Callable[[str], None]) -> Proposals:
    """What searches proposed; a damaged file is set aside, and made again from the records."""
    try:
        return Proposals(out)
    except Damaged as damaged:
        try:
            again = proposed_again(plan, read_records(out, lambda path, damaged: None))
        except ValueError as error:
            raise ValueError(
                f"{damaged}. The records do not give it back ({error}): put a copy of it back, or --fresh to move the "
                "folder aside and start over"
            ) from damaged
        tell(f"{damaged}: moved to {set_aside(proposals_path(out)).name}, and made again from the records")
        again.write(proposals_path(out))
        return Proposals(out)


def set_damaged_forecast_aside(out: Path, tell: Callable[[str], None]) -> None:
    """So that another one can take its place, and the report is without it until then."""
    path = calibration_path(out)
    try:
        if path.exists():
            CalibrationFile.read(path)
    except Damaged as damaged:
        tell(f"{damaged}: moved to {set_aside(path).name}, and the report has no forecast until the next one")


def read_study(out: Path) -> StudyFile | None:
    """study.json; None if there is none yet.

    Raises:
        ValueError: it cannot be read.
    """
    path = study_path(out)
    return StudyFile.read(path) if path.exists() else None


def write_study(out: Path, plan: Plan, bank: Bank, folds: list[FoldEntry], execution: Execution) -> StudyFile:
    """Write study.json with this execution added to those before, and return it; its id stays the same.

    The files of a study of one's own are copied to code/ beside it.
    """
    if plan.study.code:
        plan.study.code.write(out / "code")
    old, new = read_study(out), _study(plan, bank)
    parts: dict[str, Any] = {"folds": folds, "executions": [*(old.executions if old else ()), execution]}
    if old is not None:
        parts |= {"id": old.id, "created_at": old.created_at}
    written = new.model_copy(update=parts)
    written.write(study_path(out))
    return written


def _study(plan: Plan, bank: Bank) -> StudyFile:
    """A new study of this plan, before its folds and executions are known."""
    study = plan.study
    return StudyFile(
        id=uuid.uuid4().hex,
        study=study.name,
        title=study.title,
        question=study.question,
        preset=plan.preset.name,
        seed=plan.seed,
        changed=dict(plan.preset.changed),
        created_at=now(),
        fingerprint=_fingerprint(plan, bank),
        data=_data(bank),
        folds=[],
        metric=study.metric,
        equivalence_margin=study.equivalence_margin,
        search_splits=plan.search_splits,
        test_protocol=plan.preset.test_protocol,
        models_per_replicate=plan.models_per_replicate,
        results_version=RESULTS_VERSION,
        code=study.code,
        baseline=study.baseline,
        comparisons=list(study.comparison_pairs),
        arms=[arm.entry(plan.replicates_of(arm)) for arm in plan.arms],
        references=[planned.entry() for planned in plan.references],
        plan=PlannedTrials(
            search_trials=plan.search_trials,
            replicate_trials=plan.replicate_trials,
            reference_trials=plan.reference_trials,
        ),
        train=plan.train_configs()[0].model_dump(mode="json", exclude={"loss", "margins"}),
        environment=environment() | {"git_commit": _git_commit()},
        executions=[],
    )


def _data(bank: Bank) -> DataEntry:
    description = bank.description
    return DataEntry(
        name=description.name,
        kind=description.kind,
        synthetic=description.synthetic,
        about=description.about,
        release=description.release,
        files=dict(description.files),
        details=dict(description.details),
        interval=bank.interval.unit,
        fingerprint=bank.fingerprint,
        image_size=bank.size,
        images=bank.count,
        warnings=list(bank.warnings),
        development=_subset(bank, "development"),
        test=_subset(bank, "test"),
    )


def _subset(bank: Bank, side: str) -> SubsetSummary:
    counts = dict(bank.summary[side])
    return SubsetSummary(by_time=counts.pop(bank.interval.plural), **counts)


def _fingerprint(plan: Plan, bank: Bank) -> str:
    """Of all trials that are known beforehand, and of the searches that propose the others."""
    searches = [arm.model_dump(mode="json") for arm in plan.arms if arm.listed is None]
    return fingerprint([spec.fingerprint for spec in plan.possible(bank, lambda arm, search_split: ())] + searches)


def write_surfaces(out: Path, plan: Plan) -> None:
    """Write surfaces.json: for each surface of the study its label, margins, grid, values and gradients."""
    if plan.study.surfaces:
        write_json(out / "surfaces.json", {"surfaces": [_values(surface) for surface in plan.study.surfaces]})


def _values(surface: Surface) -> dict[str, Any]:
    loss = surface.loss()
    about = {"label": surface.label, "epsilon": surface.epsilon, "beta": surface.beta}
    values = loss_surface(loss, Margins(surface.epsilon, surface.beta))
    return about | {"configuration": loss.model_dump(mode="json")} | values


def write_shown_images(out: Path, bank: Bank, rows: Iterable[int]) -> None:
    """Write the images of these rows of the bank as samples/ROW.png, where a report finds them without the bank."""
    for row in rows:
        content = io.BytesIO()
        Image.fromarray(bank.images[row]).save(content, "PNG")
        write_bytes(out / "samples" / f"{row}.png", content.getvalue())


def end_execution(out: Path, wall_s: float, trials: int, exit_code: int) -> None:
    """Complete the last execution in study.json: it ends now."""
    study = StudyFile.read(study_path(out))
    facts = {"ended_at": now(), "wall_s": wall_s, "trials": trials, "exit_code": exit_code}
    ended = study.executions[-1].model_copy(update=facts)
    study.model_copy(update={"executions": [*study.executions[:-1], ended]}).write(study_path(out))


def _git_commit() -> str:
    """This project's commit, with `-dirty` where files differ from it; `unknown` outside a checkout of it.

    An environment may lie in another project's repository, whose commit says nothing of this code.
    """
    root = Path(__file__).resolve().parents[4]
    try:
        if Path(_git(root, "rev-parse", "--show-toplevel")) != root:
            return "unknown"
        return _git(root, "describe", "--always", "--dirty", "--abbrev=40")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(folder: Path, *command: str) -> str:
    run = ["git", "-C", str(folder), *command]
    return subprocess.run(run, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
