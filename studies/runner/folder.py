"""A study's folder: what is in it, whether it belongs to the plan, and who is using it."""

from __future__ import annotations

import fcntl
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image

from fmim_core.config import fingerprint
from fmim_core.data.bank.bank import Bank
from fmim_core.losses.surface import loss_surface
from fmim_core.margins.schedules import Margins
from fmim_core.records import SCHEMA, Record, now, read_json, read_records, write_json
from fmim_core.trial.machine import environment
from search_spaces.searchers import Grid
from studies.plan import Plan
from studies.runner.search.proposals import Proposals
from studies.selection import in_short


@contextmanager
def sole_user(out: Path) -> Iterator[None]:
    """Nobody else runs in this folder for the block.

    Raises:
        ValueError: somebody does.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another process is running in {out}: wait for it, or give another --out") from None
        yield


def move_aside(out: Path) -> Path | None:
    """Rename an existing folder to `OUT.until-TIME`; nothing is deleted. Returns its new place, if there was one.

    Raises:
        ValueError: another process is running in it.
    """
    if not out.exists():
        return None
    aside = out.with_name(f"{out.name}.until-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    with sole_user(out):
        out.rename(aside)
    return aside


def records_of_plan(out: Path, plan: Plan, bank: Bank) -> dict[str, Record]:
    """The records in the folder that are the plan's, by trial, in short; others are left alone.

    Raises:
        ValueError: a record has the name of a planned trial, but another configuration, data set or seed; or an arm
            was searched otherwise.
    """
    proposals = Proposals(out)
    _check_arms(out, plan, proposals)
    planned = {spec.id: spec for spec in plan.possible(bank, proposals.of)}
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    records: dict[str, Record] = {}
    lost, foreign = [], []
    for record in read_records(out):
        spec = planned.get(record["trial"])
        if spec is not None:
            # A search that stops trials sees how they went.
            records[spec.id] = in_short(record) | {"history": record["history"] if spec.rungs else []}
            if record["fingerprint"] != spec.fingerprint:
                foreign.append(spec.id)
        elif record["arm"] in sampled:
            lost.append(record["trial"])
    if lost:
        raise ValueError(
            f"{out} holds records of configurations that its proposals.json does not have (e.g. {lost[0]}): put the "
            "file back, or --fresh to move the folder aside and start over"
        )
    if foreign:
        raise ValueError(
            f"{out} holds {len(foreign)} records of another plan (e.g. {foreign[0]}{_differences(out, plan, bank)}): "
            "give another --out, or --fresh to move them aside and start over"
        )
    return records


def _check_arms(out: Path, plan: Plan, proposals: Proposals) -> None:
    """Check that each arm goes on in the space and with the searcher it began with; it may only take more samples."""
    path = out / "study.json"
    study = read_json(path) if path.exists() else {"arms": []}
    before = {arm["name"]: arm for arm in study["arms"]}
    for arm in plan.arms:
        if arm.name not in before:
            continue
        old, new, proposed = before[arm.name], arm.to_json(), len(proposals.of(arm.name))
        changed = _changes(old["space"], new["space"])
        # A study from before there were searchers had grids alone.
        changed += _changes(old.get("searcher", Grid().model_dump()), new["searcher"], without="samples")
        if proposed and study["seed"] != plan.seed:
            changed.append(f"seed was {study['seed']}, is {plan.seed}")
        if arm.budget < proposed:
            changed.append(f"{proposed} configurations are proposed, only {arm.budget} allowed now")
        if changed:
            raise ValueError(
                f"arm {arm.name!r} of {out} was begun otherwise: {'; '.join(changed)}. More samples continue a search, "
                "anything else is another one: give another --out, or --fresh to move this one aside and start over"
            )


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], without: str = "") -> list[str]:
    names = [name for name in {**old, **new} if name != without and old.get(name) != new.get(name)]
    return [f"{name} was {old.get(name, 'not there')}, is {new.get(name, 'not there')}" for name in names]


def _differences(out: Path, plan: Plan, bank: Bank) -> str:
    """What study.json says was different, as far as it can be told."""
    if not (out / "study.json").exists():
        return ""
    old = read_json(out / "study.json")
    pairs = {
        "preset": (old["preset"], plan.preset.name),
        "seed": (old["seed"], plan.seed),
        "data": (old["data"]["name"], bank.description.name),
        "data fingerprint": (old["data"]["fingerprint"][:12], bank.fingerprint[:12]),
        "epochs": (old["train"]["epochs"], plan.train_configs()[0].epochs),
    }
    different = [f"{name} was {was}, is {now}" for name, (was, now) in pairs.items() if was != now]
    return f"; {', '.join(different)}" if different else ""


def write_study(out: Path, plan: Plan, bank: Bank, folds: list[dict[str, Any]], execution: dict[str, Any]) -> str:
    """Write study.json with this execution added to those before; returns the study's id, which stays the same."""
    path = out / "study.json"
    old = read_json(path) if path.exists() else {}
    study_id = old.get("id") or uuid.uuid4().hex
    description = bank.description
    train = plan.train_configs()[0].model_dump(mode="json", exclude={"loss", "margins"})
    content = {
        "schema": SCHEMA,
        "id": study_id,
        "study": plan.study.name,
        "title": plan.study.title,
        "question": plan.study.question,
        "preset": plan.preset.name,
        "seed": plan.seed,
        "created_at": old.get("created_at") or now(),
        "fingerprint": _fingerprint(plan, bank),
        "data": {
            "name": description.name,
            "kind": description.kind,
            "synthetic": description.synthetic,
            "about": description.about,
            "release": description.release,
            "files": description.files,
            "details": description.details,
            "fingerprint": bank.fingerprint,
            "image_size": bank.size,
            "images": bank.count,
            "warnings": list(bank.warnings),
            **bank.summary,
        },
        "folds": folds,
        "metric": plan.study.metric,
        "equivalence_margin": plan.study.equivalence_margin,
        "baseline": plan.study.baseline,
        "comparisons": [list(pair) for pair in plan.study.comparison_pairs],
        "replicates": plan.replicates,
        "arms": [arm.to_json() for arm in plan.arms],
        "plan": {"search_trials": plan.search_trials, "replicate_trials": plan.replicate_trials},
        "train": train,
        "environment": environment() | {"git_commit": _git_commit()},
        "executions": [*old.get("executions", []), execution],
    }
    write_json(path, content)
    return study_id


def _fingerprint(plan: Plan, bank: Bank) -> str:
    """Of all trials that are known beforehand, and of the searches that propose the others."""
    searches = [arm.model_dump(mode="json") for arm in plan.arms if arm.listed is None]
    return fingerprint([spec.fingerprint for spec in plan.possible(bank, lambda arm: ())] + searches)


def write_surfaces(out: Path, plan: Plan) -> None:
    """Write surfaces.json: for each surface of the study its label, margins, grid, values and gradients."""
    if plan.study.surfaces:
        surfaces = [
            surface.model_dump(mode="json", exclude={"loss"})
            | {"configuration": surface.loss.model_dump(mode="json")}
            | loss_surface(surface.loss, Margins(surface.epsilon, surface.beta))
            for surface in plan.study.surfaces
        ]
        write_json(out / "surfaces.json", surfaces)


def write_sample_images(out: Path, bank: Bank) -> None:
    """Write the images that the records' retrieval samples name, as samples/ROW.png, so that a report can show them."""
    rows = {
        sample[key]
        for record in read_records(out)
        for sample in record.get("samples", [])
        for key in ("query_row", "truth_row", "top_row")
    }
    for row in rows:
        path = out / "samples" / f"{row}.png"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            Image.fromarray(bank.images[row]).save(path)


def end_execution(out: Path, **facts: Any) -> None:
    """Complete the last execution in study.json."""
    content = read_json(out / "study.json")
    content["executions"][-1] |= facts
    write_json(out / "study.json", content)


def _git_commit() -> str:
    """The project's commit, with `-dirty` where files differ from it; `unknown` outside a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
