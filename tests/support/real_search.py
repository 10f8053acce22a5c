"""A plan of two searches with real trainings, one of which stops trials, and what its folder is like afterwards."""

from __future__ import annotations

from pathlib import Path

from mlflow import MlflowClient

from fmim.runner.search.tpe import TPE
from fmim_core.records import Metrics, Record, read_records
from fmim_spaces.successive_halving import ASHA
from tests.support.simulation import arm, plan_of

REAL = plan_of(
    arm("tpe", TPE(samples=3, startup=1, in_flight=1)),
    arm("asha", ASHA(samples=6, reduction=3)),
    epochs=3,
    replicates=1,
)


def stopped_records(root: Path) -> list[Record]:
    """Of the trials that a search stopped."""
    return [record for record in read_records(root / "study") if record.status == "stopped"]


def assert_stopped_cleanly(root: Path) -> None:
    """Stopped trials have their record and no checkpoint; MLflow shows them as finished, and tagged."""
    stopped = stopped_records(root)
    assert stopped
    for record in stopped:
        epochs = len(record.history)
        assert record.metrics == Metrics()
        assert record.stopped.after_epoch == record.cost.epochs == epochs == 1
        assert record.stopped.validation["mAP"] == record.history[-1].validation_mAP
        assert record.cost.train_s > 0
        assert record.error is None
        assert not (root / "study" / "checkpoints" / f"{record.trial}.pt").exists()
    client = MlflowClient(f"sqlite:///{root}/mlflow.db")
    experiment = client.get_experiment_by_name("searches")
    runs = {r.data.tags.get("fmim.trial"): r for r in client.search_runs([experiment.experiment_id], max_results=1000)}
    assert {runs[record.trial].info.status for record in stopped} == {"FINISHED"}
    assert {runs[record.trial].data.tags["fmim.status"] for record in stopped} == {"stopped"}
    assert {r.info.status for r in runs.values()} == {"FINISHED"}
    assert len(runs) == 1 + len(list(read_records(root / "study")))
