"""Winners' models in MLflow: of each arm one, with its signature, for `mlflow.pyfunc.load_model`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fmim.runner.folder.replicates import Replicate, completed_replicates
from fmim.runner.tracking.pages import all_pages
from fmim.runner.tracking.values import milliseconds, of_the_end
from fmim_core.records import StudyFile, study_path
from fmim_core.trial.checkpoint import checkpoint_path

LOADER = "fmim.runner.tracking.models.loading"
INSTALLED = ("fmim-studies", "mlflow", "numpy", "torch")
"""What a model needs where it is loaded; the first needs the rest of what there is."""


def winners(out: Path, study: StudyFile) -> Iterator[Replicate]:
    """Of each arm's selected configuration the completed replicate with the first seed that has kept its weights.

    Not the one that tested best, which would show more than the arm can do, and not all, which would take as many
    times the space.
    """
    for arm in study.arms:
        kept = (
            Replicate(out, study, record)
            for _, record in sorted(completed_replicates(out, study, arm.name).items())
            if checkpoint_path(out, record.trial).is_file()
        )
        yield from [first for first in [next(kept, None)] if first is not None]


@dataclass(frozen=True)
class LoggedModels:
    """The models of a study in an experiment; those that are there whole are not written again.

    client: MLflow's. runs: trial → its run.
    """

    client: Any
    experiment: str
    study_id: str
    runs: Mapping[str, str]

    def write(self, out: Path, study: StudyFile) -> Iterator[None]:
        """Write the winners' models, and yield after each."""
        known = {(model.tags["fmim.trial"], model.tags["fmim.fingerprint"]): model for model in self._known()}
        for winner in winners(out, study):
            found = known.get((winner.record.trial, winner.record.fingerprint))
            if found is None or str(found.status) != "READY":  # of a process that was killed it is PENDING
                self._write(winner, found or self._create(winner))
                yield

    def _known(self) -> Iterator[Any]:
        query = f"tags.`fmim.study_id` = '{self.study_id}'"
        return all_pages(partial(self.client.search_logged_models, [self.experiment], query))

    def _create(self, winner: Replicate) -> Any:
        record = winner.record
        tags = {"fmim.study_id": self.study_id, "fmim.trial": record.trial, "fmim.fingerprint": record.fingerprint}
        parameters = {"arm": record.arm, "seed": str(record.replicate), **_text(record.configuration)}
        run = self.runs[record.trial]
        return self.client.create_logged_model(self.experiment, record.arm, run, tags, parameters, "embedding")

    def _write(self, winner: Replicate, model: Any) -> None:
        from mlflow.entities import LoggedModelOutput, Metric

        record = winner.record
        with tempfile.TemporaryDirectory(prefix="fmim-model-") as folder:
            saved = save(winner, Path(folder) / "model", model.model_id)
            self.client.log_model_artifacts(model.model_id, str(saved))
        run, last = self.runs[record.trial], len(record.history)
        self.client.log_outputs(run, [LoggedModelOutput(model.model_id, last)])
        at = milliseconds(record.ended_at)
        metrics = [
            Metric(name, float(value), at, step, model_id=model.model_id, run_id=run)
            for name, value, _, step in of_the_end(record)
            if name.startswith("test/")
        ]
        self.client.log_batch(run, metrics)
        self.client.finalize_logged_model(model.model_id, "READY")


def save(winner: Replicate, to: Path, model_id: str) -> Path:
    """Write MLflow's folder of a model: its signature, what loads it, and of the study what that needs."""
    from mlflow.models import Model, ModelSignature
    from mlflow.pyfunc import save_model

    record = winner.record
    with tempfile.TemporaryDirectory(prefix="fmim-model-") as folder:
        save_model(
            to,
            loader_module=LOADER,
            data_path=str(_part_of_study(winner, Path(folder) / "study")),
            model_config={"arm": record.arm, "seed": record.replicate, "device": "auto"},
            mlflow_model=Model(model_id=model_id, signature=ModelSignature(**_signature(winner))),
            pip_requirements=[f"{name}=={version(name)}" for name in INSTALLED],
        )
    return to


def _part_of_study(winner: Replicate, to: Path) -> Path:
    """A folder of the study with one replicate: `fmim.load_model` needs no more."""
    out, trial = winner.out, winner.record.trial
    parts = [study_path(out), out / "selection.json", winner.record.path(out), checkpoint_path(out, trial)]
    for part in parts:
        place = to / part.relative_to(out)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(part, place)
    return to


def _signature(winner: Replicate) -> dict[str, Any]:
    """Images and embeddings; those of a fold ensemble are its members', side by side."""
    import numpy as np
    from mlflow.types import Schema, TensorSpec

    members, size = len(winner.record.members), winner.record.config["model"]["embedding_dim"]
    embeddings = ("float64", members * size) if members else ("float32", size)
    return {
        "inputs": Schema([TensorSpec(np.dtype("uint8"), (-1, -1, -1))]),
        "outputs": Schema([TensorSpec(np.dtype(embeddings[0]), (-1, embeddings[1]))]),
    }


def _text(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}
