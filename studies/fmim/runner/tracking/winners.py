"""Winners' models in MLflow: of each arm one, with its signature, for `mlflow.pyfunc.load_model`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fmim.runner.folder.study_folder import Replicate, completed_replicates
from fmim.runner.tracking.client import found_by
from fmim.runner.tracking.contents import metrics_of_the_end
from fmim_core.records import StudyFile, study_path
from fmim_core.trial.checkpoint import checkpoint_path

LOADER = "fmim.runner.tracking.models.loading"
INSTALLED = ("fmim-studies", "mlflow", "numpy", "torch")
"""What a model needs where it is loaded; the first needs the rest of what there is."""


def write_winners(client: Any, experiment: str, runs: Mapping[str, str], out: Path) -> Iterator[None]:
    """Write the winners' models that an experiment has not got whole, and yield after each.

    Args:
        runs: trial → its run.
    """
    study = StudyFile.read(study_path(out))
    query = f"tags.`fmim.study_id` = '{study.id}'"
    models = found_by(client.search_logged_models, [experiment], query)
    known = {(model.tags["fmim.trial"], model.tags["fmim.fingerprint"]): model for model in models}
    for winner in _winners(out, study):
        record = winner.record
        run, model = runs[record.trial], known.get((record.trial, record.fingerprint))
        if model is None:
            tags = {"fmim.study_id": study.id, "fmim.trial": record.trial, "fmim.fingerprint": record.fingerprint}
            values = {name: str(value) for name, value in record.configuration.items()}
            parameters = {"arm": record.arm, "seed": str(record.replicate), **values}
            model = client.create_logged_model(experiment, record.arm, run, tags, parameters, "embedding")
        if str(model.status) != "READY":  # of a process that was killed it is PENDING
            _write(client, run, winner, model.model_id)
            yield


def _winners(out: Path, study: StudyFile) -> Iterator[Replicate]:
    """Yield of each arm's selected configuration the completed replicate with the first seed that has kept its weights.

    Not the one that tested best, which would show more than the arm can do, and not all, which would take as many
    times the space.
    """
    for arm in study.arms:
        for _, record in sorted(completed_replicates(out, study, arm.name).items()):
            if checkpoint_path(out, record.trial).is_file():
                yield Replicate(out, study, record)
                break


def _write(client: Any, run: str, winner: Replicate, model_id: str) -> None:
    from mlflow.entities import LoggedModelOutput, Metric

    record = winner.record
    folder = winner.out / "checkpoints" / ".model"  # a fixed place, so that the next start finds what a kill leaves
    shutil.rmtree(folder, ignore_errors=True)
    try:
        client.log_model_artifacts(model_id, str(_save(winner, folder, model_id)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    client.log_outputs(run, [LoggedModelOutput(model_id, len(record.history))])
    test = [one for one in metrics_of_the_end(record) if one.key.startswith("test/")]
    client.log_batch(run, [Metric(one.key, one.value, one.timestamp, one.step, model_id, run_id=run) for one in test])
    client.finalize_logged_model(model_id, "READY")


def _save(winner: Replicate, folder: Path, model_id: str) -> Path:
    """Write MLflow's folder of a model into another: its signature, what loads it, and of the study what that needs.

    That is a folder of the study with one replicate. Embeddings of a fold ensemble are its members', side by side.
    """
    import numpy as np
    from mlflow.models import Model, ModelSignature
    from mlflow.pyfunc import save_model
    from mlflow.types import Schema, TensorSpec

    out, record, to = winner.out, winner.record, folder / "model"
    for part in (study_path(out), out / "selection.json", record.path(out), checkpoint_path(out, record.trial)):
        place = folder / "study" / part.relative_to(out)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part, place)
    members, size = len(record.members), record.config.get("model", {}).get("embedding_dim", -1)  # -1: any
    kind, columns = ("float64", max(-1, members * size)) if members else ("float32", size)
    signature = ModelSignature(
        inputs=Schema([TensorSpec(np.dtype("uint8"), (-1, -1, -1))]),
        outputs=Schema([TensorSpec(np.dtype(kind), (-1, columns))]),
    )
    save_model(
        to,
        loader_module=LOADER,
        data_path=str(folder / "study"),
        model_config={"arm": record.arm, "seed": record.replicate, "device": "auto", "trust_code": False},
        mlflow_model=Model(model_id=model_id, signature=signature),
        pip_requirements=[f"{name}=={version(name)}" for name in INSTALLED],
    )
    return to
