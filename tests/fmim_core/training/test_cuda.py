"""What only an NVIDIA GPU can show: images on their way to it, steps that it is never waited for, CUDA graphs.

Ray, MLflow and Optuna are not needed; `tests/benchmarks/gpu.sh` runs this file first.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from fmim_core.data.bank import device as fmim_device
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.device import DeviceImages
from fmim_core.data.splits import subject_folds
from fmim_core.losses.pml import PML
from fmim_core.training.device import Captured
from fmim_core.training.trainer import Training
from fmim_core.trial.checkpoint import read_checkpoint, write_checkpoint
from tests.conftest import tiny_config
from tests.support.trainings import CASES, SEED, of_library, run_all, training

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
cases = pytest.mark.parametrize("changes", CASES.values(), ids=CASES.keys())
BUSY = 4096  # side of a matrix whose product keeps the GPU busy while the next batch comes


def assert_same_course(run: Training, other_run: Training, tolerance: float) -> None:
    """Sums on a GPU come in any order, so that two runs of the same code differ in their last bits."""
    for row, other in zip(run.history, other_run.history, strict=True):
        for name in ("loss", "epsilon", "delta_mean", "phi_an_mean"):
            assert getattr(other, name) == pytest.approx(
                getattr(row, name), rel=tolerance, abs=tolerance, nan_ok=True
            ), name


@pytest.mark.parametrize("resident", [False, True])
def test_every_batch_arrives_as_it_is_in_the_bank(tiny_bank: Bank, resident: bool) -> None:
    images = tiny_bank.development()
    positions = torch.randint(0, len(images), (201,), generator=torch.Generator().manual_seed(0))
    stored = DeviceImages(images, torch.device("cuda"), resident)
    assert (stored._whole is not None) == resident
    work, seen = torch.randn(BUSY, BUSY, device="cuda"), []
    for batch in stored.batches(positions, 16):
        work = (work @ work).tanh_()  # the batch is read after this, while the next ones are under way
        seen.append((batch.clone(), work[0, 0].clone()))
    expected = images.images[images.rows[positions.numpy()]]
    assert torch.equal(torch.cat([batch for batch, _ in seen]).cpu(), torch.from_numpy(expected))


@pytest.mark.parametrize("name", PML.library.names())
def test_every_loss_of_the_library_trains_on_a_gpu_with_a_miner_that_draws(tiny_bank: Bank, name: str) -> None:
    changes = of_library(name)
    if name not in ("InstanceLoss", "P2SGradLoss", "PNPLoss", "RankedListLoss"):  # they take no miner
        changes["loss"]["miner"] = {"name": "DistanceWeightedMiner"}
    first, second = (run_all(training(tiny_bank, changes, "cuda")) for _ in range(2))
    assert_same_course(first, second, 1e-3)


@cases
def test_a_gpu_trains_as_a_cpu_does(tiny_bank: Bank, changes: dict[str, Any]) -> None:
    """Without augmentation: a GPU draws other numbers from the same seed."""
    plain = {"crop": 28, "noise_p": 0.0, "rotation": 0.0, "gamma_p": 0.0}
    changes = {**changes, "augmentation": plain, "precision": "float32"}
    cpu, gpu = (run_all(training(tiny_bank, changes, device)) for device in ("cpu", "cuda"))
    assert_same_course(cpu, gpu, 3e-2)


def test_a_gpu_evaluates_as_a_cpu_does(tiny_bank: Bank) -> None:
    """The test images are streamed, the validation images stay there for the next epoch."""
    changes = {"precision": "float32"}
    cpu, gpu = (training(tiny_bank, changes, device) for device in ("cpu", "cuda"))
    test = tiny_bank.open_test()
    assert torch.allclose(gpu.embed(test).cpu(), cpu.embed(test), atol=5e-3)  # TF32
    fold = subject_folds(tiny_bank.development(), 2, 0)[0]
    with_validation = Training(tiny_config(**changes), fold.train, fold.validation, SEED, torch.device("cuda"))
    assert with_validation._validation_images._whole is not None
    first = with_validation.evaluate(fold.validation)
    assert with_validation.evaluate(fold.validation) == first
    assert first["mAP"] == pytest.approx(cpu.evaluate(fold.validation)["mAP"], abs=0.05)


@cases
@pytest.mark.parametrize("resident", [0.0, 0.4])
def test_no_step_waits_for_the_gpu(
    tiny_bank: Bank, changes: dict[str, Any], resident: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fmim_device, "RESIDENT_SHARE", resident)
    run = training(tiny_bank, changes, "cuda")
    run.run_epoch()
    take, left = run._trainer._step.take, [run._trainer._sampler.batches_per_epoch]

    def watched(*inputs: torch.Tensor) -> Any:
        torch.cuda.set_sync_debug_mode("error")  # from here, the collector and the next batch too, to the last step
        left[0] -= 1
        result = take(*inputs)
        if left[0] == 0:
            torch.cuda.set_sync_debug_mode("default")
        return result

    monkeypatch.setattr(run._trainer._step, "take", watched)
    try:
        run.run_epoch()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert left == [0]


@cases
def test_a_captured_step_computes_what_an_ordinary_one_does(tiny_bank: Bank, changes: dict[str, Any]) -> None:
    ordinary, captured = training(tiny_bank, changes, "cuda"), training(tiny_bank, changes, "cuda")
    for group in captured._trainer._step.optimizer.param_groups:
        group["capturable"] = True
    graph = captured._trainer._step._captured = Captured(captured._trainer._step.generator)
    assert_same_course(run_all(ordinary), run_all(captured), 1e-2)
    assert graph._graph is not None


def test_a_compiled_and_captured_training_goes_on_from_its_checkpoint(tiny_bank: Bank, tmp_path: Path) -> None:
    fold = subject_folds(tiny_bank.development(), 2, 0)[0]

    def begin(compile: str) -> Training:
        config = tiny_config(compile=compile, keep="best", epochs=3)
        return Training(config, fold.train, fold.validation, SEED, torch.device("cuda"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, whole, first, second = begin("none"), begin("cudagraphs"), begin("cudagraphs"), begin("cudagraphs")
        first.run_epoch()
        write_checkpoint(tmp_path / "c.pt", first.state())
        second.load_state(read_checkpoint(tmp_path / "c.pt", second.device))
        assert_same_course(run_all(eager), run_all(whole), 2e-2)
        assert_same_course(run_all(whole), run_all(second), 2e-2)
    assert whole.seconds.startup > whole.seconds.train
    assert list(whole.model.state_dict()) == list(eager.model.state_dict())
