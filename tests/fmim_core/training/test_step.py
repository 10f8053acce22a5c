"""A step computes what a plain loop does, never waits for the device, and can be replayed or compiled."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fmim.declare import Preset, Study
from fmim.plan import Plan
from fmim.printing import TextConsole
from fmim.runner.setup import Setup
from fmim.terminal.plan import predict_here
from fmim_core.data.bank.bank import Bank
from fmim_core.training.device import WARMUP_STEPS, Precision, float32_defined
from fmim_core.training.trainer import Training
from fmim_core.trial.trial import RunSettings, Trial
from tests.conftest import tiny_config
from tests.support.documents import comparable
from tests.support.mini_study import MINI, MINI_STUDY, first_search_trials, mini_plan, options_in, run_here
from tests.support.trainings import CASES, Taped, by_hand, run_all, training

cases = pytest.mark.parametrize("changes", CASES.values(), ids=CASES.keys())


def rows_of(run: Training) -> list[tuple[float, ...]]:
    names = ("loss", "epsilon", "delta_mean", "phi_an_mean")
    return [tuple(getattr(row, name) for name in names) for row in run_all(run).history]


@cases
def test_a_training_is_the_plain_loop_to_the_last_bit(tiny_bank: Bank, changes: dict[str, Any]) -> None:
    run = training(tiny_bank, changes)
    assert repr(rows_of(run)) == repr(by_hand(run.config, tiny_bank)[0])


@cases
def test_a_replayed_step_computes_what_an_ordinary_one_does(
    tiny_bank: Bank, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CUDA graph, in all but the hardware: 3 ordinary steps, then the operations of the fourth again and again."""
    ordinary, replayed = training(tiny_bank, changes), training(tiny_bank, changes)
    for run in (ordinary, replayed):  # the optimizer that counts its steps on the device
        for group in run._trainer._step.optimizer.param_groups:
            group["fused"] = True
    calls, take = [], replayed._trainer._step.take
    monkeypatch.setattr(replayed._trainer._step, "_captured", Taped())
    monkeypatch.setattr(replayed._trainer._step, "take", lambda *inputs: (calls.append(1), take(*inputs))[1])
    assert repr(rows_of(replayed)) == repr(rows_of(ordinary))
    assert len(calls) == WARMUP_STEPS + 1 < replayed.history[0].batches
    for name, value in ordinary.model.state_dict().items():
        assert torch.equal(value, replayed.model.state_dict()[name]), name


def test_a_training_is_gone_when_nobody_holds_it(tiny_bank: Bank) -> None:
    """A worker runs trial after trial: what the last one had on a GPU must not wait for the garbage collector."""
    run = training(tiny_bank, {})
    run.run_epoch()
    model = weakref.ref(run.model)
    gc.disable()
    try:
        del run
        assert model() is None
    finally:
        gc.enable()


class Waits(TorchDispatchMode):
    """Notes the operations that make the host wait for a GPU: its values are looked at, or a number is sent to it.

    What does not show on a CPU (`tolist`, copies between devices) is left to `test_cuda.py`.
    """

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal.", "lift_fresh")

    def __init__(self) -> None:
        super().__init__()
        self.watching, self.found, self.operations = True, [], 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        masked = str(func).startswith("aten.index") and any(
            isinstance(value, Tensor) and value.dtype == torch.bool for value in tree_leaves(args[1:])
        )
        # torch.where(mask, x, 8.0) sends the number over; autograd, where there is no grad mode, makes its own there.
        sent = "scalar_tensor" in str(func) and torch.is_grad_enabled()
        self.operations += self.watching
        if self.watching and (masked or sent or any(name in str(func) for name in self.NAMES)):
            self.found.append(str(func))
        return func(*args, **(kwargs or {}))


@cases
def test_nothing_in_an_epoch_waits_for_the_device(
    tiny_bank: Bank, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = training(tiny_bank, changes)
    step, take, waits, left = run._trainer._step, run._trainer._step.take, Waits(), [0]
    waits.watching = False
    step.optimizer.register_step_post_hook(lambda *_: setattr(waits, "watching", left[0] > 0))

    def watched(stored: Tensor, classes: Tensor) -> Any:
        waits.watching, left[0] = True, left[0] - 1
        return take(stored, classes)

    left[0] = run._trainer._sampler.batches_per_epoch
    monkeypatch.setattr(step, "take", watched)
    with waits:
        run.run_epoch()
    assert waits.operations > 100 * run.history[0].batches
    assert waits.found == []
    with Waits() as waits:  # it would have been noticed
        float(torch.arange(3.0)[0])
        torch.where(torch.arange(3.0) > 0, torch.arange(3.0), 8.0)
    assert len(waits.found) == 2


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_what_float32_means_is_set_for_the_block_alone(precision: Precision) -> None:
    before = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    try:
        torch.backends.cudnn.allow_tf32 = precision != "tf32"
        torch.set_float32_matmul_precision("medium")
        with float32_defined(precision):
            assert torch.backends.cudnn.allow_tf32 == (precision == "tf32")
            assert not torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.allow_tf32 != (precision == "tf32")
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.backends.cudnn.allow_tf32 = before[0]
        torch.set_float32_matmul_precision(before[1])


def test_a_graph_that_cannot_be_is_refused(tiny_bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"'cudagraphs' cannot work with loss = Contrastive.*: .* use 'default'"):
        tiny_config(
            loss={"kind": "contrastive", "m_pos": 0.1, "m_neg": 0.5}, margins={"kind": "none"}, compile="cudagraphs"
        )
    with pytest.raises(ValueError, match=r"'cudagraphs' needs an NVIDIA GPU, but the training runs on cpu: use 'none'"):
        training(tiny_bank, {"compile": "cudagraphs"})
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ValueError, match=r"'default' on cpu needs a C\+\+ compiler \(no-such-compiler"):
        training(tiny_bank, {"compile": "default"})


@pytest.mark.parametrize("start", [run_here, predict_here])
def test_a_study_that_cannot_be_compiled_is_neither_run_nor_timed(
    start: Callable[[Plan, Setup, TextConsole], object], tmp_path: Path
) -> None:
    preset = Preset.model_validate(MINI.model_dump() | {"settings": (*MINI.settings, ("compile", "cudagraphs"))})
    study = Study(**dict(MINI_STUDY) | {"presets": (preset,)})
    setup = options_in(tmp_path)
    with pytest.raises(ValueError, match="'cudagraphs' needs an NVIDIA GPU, but the training runs on cpu: use 'none'"):
        start(Plan(study, preset, 0, 1), setup, TextConsole(quiet=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on a CPU")
def test_a_compiled_trial_is_as_good_and_can_be_interrupted(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan(epochs=4)
    spec = first_search_trials(plan, tiny_bank)[0]
    eager = Trial(spec, RunSettings(tmp_path / "eager", "cpu")).run()
    spec = spec.model_copy(update={"train": spec.train.model_copy(update={"compile": "default"})})
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    first = eager.history[0]
    assert whole.history[0].loss == pytest.approx(first.loss, rel=1e-3)
    assert whole.history[0].delta_mean == pytest.approx(first.delta_mean, rel=1e-3)
    for row, other in zip(eager.history, whole.history, strict=True):  # a triplet may be hard in one of the two alone
        assert other.validation_mAP == pytest.approx(row.validation_mAP, abs=0.02)
    assert whole.cost.startup_s > whole.cost.train_s  # compiling takes seconds, and is not training
    place = RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, place)
    for _ in range(2):
        stopped.step()
    assert comparable(Trial(spec, place).run()) == comparable(whole)
    plain = spec.train.model.build(24).state_dict()
    assert list(stopped._training.state()["model"]) == list(plain)
