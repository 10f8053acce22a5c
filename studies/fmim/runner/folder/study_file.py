"""The files of a study's folder beside its records: study.json, surfaces, and the images that a report shows."""

from __future__ import annotations

import io
import subprocess
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image

from fmim.plan import Plan
from fmim.runner.folder.trust import remember
from fmim_core.data.bank.bank import Bank
from fmim_core.fingerprint import fingerprint
from fmim_core.losses.surface import loss_surface
from fmim_core.margins.base import Margins
from fmim_core.records import (
    DataEntry,
    Execution,
    FoldEntry,
    PlannedTrials,
    StudyFile,
    SubsetSummary,
    now,
    study_path,
    write_bytes,
    write_json,
)
from fmim_core.training.config import TrainConfig
from fmim_core.trial.cost import environment
from fmim_core.trial.spec import RESULTS_VERSION


def write_study(out: Path, plan: Plan, bank: Bank, folds: list[FoldEntry], execution: Execution) -> StudyFile:
    """Write study.json with this execution added to those before, and return it; its id stays the same.

    A user's own files that declare a study are copied to code/ beside it. From now on, they and MLflow's address are
    known as this user's choice.
    """
    remember(execution.tracking_uri)
    old, new = StudyFile.find(study_path(out)), new_study(plan, bank)
    parts: dict[str, Any] = {"folds": folds, "executions": [*(old.executions if old else ()), execution]}
    if new.code:
        new.code.write(out / "code")
        remember(new.code.sha256)
        parts["code"] = new.code.seen_from(out)
    if old is not None:
        parts |= {"id": old.id, "created_at": old.created_at}
    written = new.model_copy(update=parts)
    written.write(study_path(out))
    return written


def new_study(plan: Plan, bank: Bank) -> StudyFile:
    """Return a new study of this plan, before its folds and executions are known.

    Its fingerprint is of all trials that are known beforehand, and of the searches that propose the others.
    """
    study = plan.study
    known = [spec.fingerprint for spec in plan.possible(bank, lambda arm, search_split: ())]
    searches = [arm.model_dump(mode="json") for arm in plan.arms if arm.listed is None]
    return StudyFile(
        id=uuid.uuid4().hex,
        **study.model_dump(include={"title", "question", "metric", "baseline"}),
        study=study.name,
        preset=plan.preset.name,
        seed=plan.seed,
        changed=dict(plan.preset.changed),
        created_at=now(),
        fingerprint=fingerprint(known + searches),
        data=_data(bank),
        folds=[],
        equivalence_margin=plan.equivalence_margin,
        answers=plan.preset.answers,
        search_splits=plan.search_splits,
        test_protocol=plan.preset.test_protocol,
        models_per_replicate=plan.models_per_replicate,
        results_version=RESULTS_VERSION,
        code=study.code,
        comparisons=list(study.question_pairs),
        claims=list(study.claims),
        arms=[arm.entry(plan.replicates_of(arm), plan.variations_of(arm)) for arm in plan.arms],
        looks=list(plan.looks.seeds) if plan.looks else [],
        references=[planned.entry for planned in plan.references],
        plan=PlannedTrials(**{name: getattr(plan, name) for name in PlannedTrials.model_fields}),
        train=_ours_first(plan).model_dump(mode="json", exclude={"loss", "margins", "trainer"}),
        environment=environment() | {"git_commit": _git_commit()},
        executions=[],
    )


def _ours_first(plan: Plan) -> TrainConfig:
    """Return a training, of our own trainer if there is one: it says more than one by a user's."""
    return min(plan.train_configs(), key=lambda config: config.trainer is not None)


def _data(bank: Bank) -> DataEntry:
    description = bank.description
    return DataEntry(
        **{name: getattr(description, name) for name in ("name", "kind", "synthetic", "about", "release")},
        files=dict(description.files),
        details=dict(description.details),
        interval=bank.interval.unit,
        fingerprint=bank.fingerprint,
        image_size=bank.size,
        channels=description.channels,
        images=bank.count,
        warnings=list(bank.warnings),
        development=_subset(bank, "development"),
        test=_subset(bank, "test"),
    )


def _subset(bank: Bank, side: str) -> SubsetSummary:
    counts = dict(bank.summary[side])
    return SubsetSummary(by_time=counts.pop(bank.interval.plural), **counts)


def write_surfaces(out: Path, plan: Plan) -> None:
    """Write surfaces.json: for each surface of the study its label, margins, grid, values and gradients."""
    found = []
    for surface in plan.study.surfaces:
        loss, about = surface.loss(), {"label": surface.label, "epsilon": surface.epsilon, "beta": surface.beta}
        values = loss_surface(loss, Margins(surface.epsilon, surface.beta))
        found.append(about | {"configuration": loss.model_dump(mode="json")} | values)
    if found:
        write_json(out / "surfaces.json", {"surfaces": found})


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
    """Return this project's commit, with `-dirty` where files differ from it; `unknown` outside a checkout of it.

    An environment may lie in another project's repository, whose commit says nothing of this code.
    """
    root = Path(__file__).resolve().parents[4]
    describe = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    if not (root / ".git").exists():
        return "unknown"
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
