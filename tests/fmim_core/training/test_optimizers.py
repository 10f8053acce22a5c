"""torch's optimizers and schedules by name are what a plain loop has, resume exactly, and are checked beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler as schedules

from fmim.declare import Arm
from fmim.declare.study import read_changes, with_changes
from fmim.plan import Plan
from fmim.plan.checks import check_trainings
from fmim_core.data.bank.bank import Bank
from fmim_core.fingerprint import fingerprint
from fmim_core.models.small import SmallConvNet
from fmim_core.optimizers.torch_classes import OptimizerOfTorch, ScheduleOfTorch
from fmim_core.training.config import TrainConfig
from fmim_core.training.step import rehearse_optimizer
from fmim_core.training.trainer import Training
from fmim_core.trial.checkpoint import read_checkpoint, write_checkpoint
from fmim_core.trial.trial import RunSettings, Trial
from fmim_spaces.domain import Choice, LogUniform, Space
from fmim_spaces.searchers import Random
from tests.conftest import tiny_config
from tests.support.documents import comparable
from tests.support.mini_study import MINI, MINI_STUDY, first_search_trials, mini_plan
from tests.support.trainings import CPU, Moving, by_hand, run_all, training

NEEDS: dict[str, dict[str, Any]] = {
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "CyclicLR": {"base_lr": 1e-4, "step_size_up": 4},
    "ExponentialLR": {"gamma": 0.5},
    "MultiStepLR": {"milestones": [1, 3]},
    "StepLR": {"step_size": 2},
}
"""Parameters without a default."""
SOFTTRIPLE = {"loss": {"kind": "softtriple", "margin": 0.02, "centers": 2}, "margins": {"kind": "none"}}


def sgd(config: TrainConfig, model: nn.Module, loss: nn.Module, batches: int) -> Moving:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=0.01)
    return optimizer, None, schedules.StepLR(optimizer, 2)


def adamw(config: TrainConfig, model: nn.Module, loss: nn.Module, batches: int) -> Moving:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.8, 0.99))
    cosine = schedules.CosineAnnealingLR(optimizer, T_max=4, eta_min=1e-5)
    rise = schedules.LinearLR(optimizer, 0.1, total_iters=1)
    return optimizer, None, schedules.SequentialLR(optimizer, [rise, cosine], [1])


def one_cycle(config: TrainConfig, model: nn.Module, loss: nn.Module, batches: int) -> Moving:
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=1e-4, fused=True)
    return optimizer, schedules.OneCycleLR(optimizer, 1e-3, steps_per_epoch=batches, epochs=5), None


def three_rates(config: TrainConfig, model: nn.Module, loss: nn.Module, batches: int) -> Moving:
    rates = ((model[:-1], 1e-4), (model[-1], 1e-2), (loss, 0.1))
    groups = [{"params": list(part.parameters()), "lr": rate} for part, rate in rates]
    optimizer = torch.optim.Adam(groups, weight_decay=1e-4, fused=True)
    return optimizer, schedules.LinearLR(optimizer, 0.01, total_iters=2 * batches), None


TORCH = {"kind": "torch"}
CASES: dict[str, tuple[dict[str, Any], Callable[..., Moving]]] = {
    "SGD, StepLR": (
        {
            "optimizer": TORCH | {"name": "SGD", "params": {"momentum": 0.9, "nesterov": "true", "weight_decay": 0.01}},
            "lr_schedule": TORCH | {"name": "StepLR", "params": {"step_size": 2}},
            "clip_grad_norm": 0.05,
        },
        sgd,
    ),
    "AdamW, warm-up, CosineAnnealingLR": (
        {
            "optimizer": TORCH | {"name": "AdamW", "params": {"betas": [0.8, 0.99]}},
            "lr_schedule": TORCH
            | {"name": "CosineAnnealingLR", "warmup_epochs": 1, "warmup_start": 0.1, "params": {"eta_min": 1e-5}},
        },
        adamw,
    ),
    "Adam, OneCycleLR": ({"lr_schedule": TORCH | {"name": "OneCycleLR"}, "freeze_backbone_epochs": 2}, one_cycle),
    "three rates, warm-up by batch": (
        {
            "lr_schedule": {"kind": "constant", "warmup_epochs": 2, "each": "batch"},
            "backbone_lr_factor": 0.1,
            "head_lr_factor": 10,
            "loss_lr_factor": 100,
            "freeze_backbone_epochs": 3,
            "clip_grad_norm": 1.0,
        }
        | SOFTTRIPLE,
        three_rates,
    ),
}
cases = pytest.mark.parametrize(("changes", "moving"), CASES.values(), ids=CASES.keys())


def same_weights(a: nn.Module, b: nn.Module) -> bool:
    return repr(a.state_dict()) == repr(b.state_dict()) and all(
        map(torch.equal, a.state_dict().values(), b.state_dict().values())
    )


def resumed(config: TrainConfig, bank: Bank, after: int, path: Path) -> Training:
    """A training that was stopped after an epoch and went on from a file, to its end."""
    first, second = (Training(config, bank.development(), None, 7, CPU) for _ in range(2))
    for _ in range(after):
        first.run_epoch()
    write_checkpoint(path, first.state())
    state = read_checkpoint(path, CPU)
    assert state is not None
    second.load_state(state)
    return run_all(second)


@cases
def test_a_training_is_the_plain_loop_of_torch_and_goes_on_from_every_epoch(
    tiny_bank: Bank, tmp_path: Path, changes: dict[str, Any], moving: Callable[..., Moving]
) -> None:
    run = run_all(training(tiny_bank, changes | {"epochs": 5}))
    rows, model, rates = by_hand(run.config, tiny_bank, moving)
    assert [row.loss for row in run.history] == [row[0] for row in rows]
    assert [row.learning_rate for row in run.history] == rates
    assert len(set(rates)) > 2
    assert same_weights(run.model, model)
    for after in range(1, 5):
        again = resumed(run.config, tiny_bank, after, tmp_path / "c.pt")
        assert same_weights(again.model, run.model), after
        assert [row.learning_rate for row in again.history] == rates


def test_every_schedule_and_every_optimizer_of_torch_resumes_or_is_left_out_for_a_reason(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    for kind, module, base in (
        (OptimizerOfTorch, torch.optim, torch.optim.Optimizer),
        (ScheduleOfTorch, schedules, schedules.LRScheduler),
    ):
        classes = {cls.__name__ for cls in vars(module).values() if inspect.isclass(cls) and issubclass(cls, base)}
        assert set(kind.library.names()) | set(kind.library.left_out) == classes - {base.__name__, "_LRScheduler"}
    configs = [tiny_config(optimizer=TORCH | {"name": name}) for name in OptimizerOfTorch.library.names()]
    for name in ScheduleOfTorch.library.names():
        schedule = TORCH | {"name": name, "params": NEEDS.get(name, {})}
        configs += [tiny_config(lr_schedule=schedule | {"warmup_epochs": warm}, epochs=4) for warm in (0, 1)]
    for config in configs:
        rehearse_optimizer(config)
        whole = run_all(Training(config, tiny_bank.development(), None, 7, CPU))
        assert same_weights(resumed(config, tiny_bank, 2, tmp_path / "c.pt").model, whole.model), config
    # by batch: with as many batches as epochs it would divide by zero
    rehearse_optimizer(tiny_config(epochs=2, lr_schedule=TORCH | {"name": "OneCycleLR", "params": {"pct_start": 0.5}}))
    one = nn.Parameter(torch.ones(1))
    one.grad = torch.ones(1)
    for name in ("Muon", "SparseAdam", "LBFGS"):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            getattr(torch.optim, name)([one]).step()


def test_a_trial_that_is_killed_in_the_frozen_epochs_of_a_warm_up_ends_in_the_record_of_one_that_is_not(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    changes = CASES["AdamW, warm-up, CosineAnnealingLR"][0] | {"freeze_backbone_epochs": 2, "epochs": 4}
    spec = first_search_trials(mini_plan(), tiny_bank)[1]
    train = TrainConfig.model_validate(spec.train.model_dump() | changes)
    spec = spec.model_copy(update={"train": train})
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0)
    Trial(spec, settings).step()
    resumed = Trial(spec, settings)
    assert resumed.step().epoch == 2
    assert comparable(resumed.run()) == comparable(whole)
    assert whole.config["optimizer"] == {"kind": "torch", "name": "AdamW", "params": {"betas": [0.8, 0.99]}}
    assert "weight_decay" not in whole.config
    assert TrainConfig.model_validate(whole.config) == train


def test_defaults_are_in_no_fingerprint_row_or_checkpoint(tiny_bank: Bank) -> None:
    config, written = tiny_config(), set(TrainConfig.model_fields)
    written -= {"optimizer", "lr_schedule", "clip_grad_norm", "freeze_backbone_epochs", "trainer"}
    assert set(config.model_dump()) == written - {f"{part}_lr_factor" for part in ("backbone", "head", "loss")}
    given = {"optimizer": {"kind": "adam"}, "lr_schedule": {"kind": "constant"}, "head_lr_factor": 1}
    assert fingerprint(tiny_config(**given, freeze_backbone_epochs=0)) == fingerprint(config)
    assert fingerprint(tiny_config(head_lr_factor=2)) != fingerprint(config)
    run = training(tiny_bank, {})
    assert "learning_rate" not in run.run_epoch().model_dump()
    assert "lr_schedule" not in run.state()


def test_a_frozen_backbone_stays_as_it_is_while_the_head_learns(tiny_bank: Bank) -> None:
    run = training(tiny_bank, {"freeze_backbone_epochs": 1})
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    run.run_epoch()
    changed = {name for name, value in run.model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if name.startswith("11.")} != set()  # the linear layer
    run.run_epoch()
    assert all(weights.requires_grad for weights in run.model.parameters())


@pytest.mark.parametrize("epochs", [0, 1])
def test_weights_that_a_network_of_ones_own_freezes_stay_frozen(
    tiny_bank: Bank, monkeypatch: pytest.MonkeyPatch, epochs: int
) -> None:
    build = SmallConvNet.build
    freeze = lambda layer: layer.requires_grad_(False) if isinstance(layer, nn.Conv2d) else layer  # noqa: E731
    monkeypatch.setattr(SmallConvNet, "build", lambda *given: build(*given).apply(freeze))
    run = training(tiny_bank, {"freeze_backbone_epochs": epochs})
    before = [weights.clone() for weights in run.model.parameters()]
    kept = zip(before, run_all(run).model.parameters(), strict=True)
    assert [torch.equal(*both) for both in kept] == [weights.dim() == 4 for weights in before]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": {"kind": "torhc"}}, "unknown optimizer kind 'torhc'; there are adam, torch. Did you mean"),
        ({"optimizer": TORCH}, r"optimizer\.name\n.*Field required"),
        ({"optimizer": TORCH | {"name": "AdmaW"}}, "unknown torch optimizer 'AdmaW'; .* Did you mean 'AdamW'"),
        ({"optimizer": TORCH | {"name": "LBFGS"}}, "LBFGS cannot be used here: it computes the loss several times"),
        ({"optimizer": TORCH | {"name": "SGD", "params": {"momentun": 1}}}, "SGD has .* Did you mean 'momentum'"),
        ({"optimizer": TORCH | {"name": "SGD", "params": {"lr": 1}}}, "lr cannot be set: .* learning_rate"),
        ({"optimizer": TORCH | {"name": "SGD"}, "weight_decay": 0.1}, "set optimizer.params.weight_decay"),
        (
            {"optimizer": TORCH | {"name": "SGD"}, "compile": "cudagraphs"},
            "cannot work with optimizer = OptimizerOfTorch",
        ),
        ({"lr_schedule": TORCH | {"name": "StepLR"}}, "StepLR needs step_size: give params.step_size"),
        ({"lr_schedule": TORCH | {"name": "LambdaLR"}}, "LambdaLR cannot be used here: .* function"),
        (
            {"lr_schedule": {"kind": "constant", "warmup_epochs": 1}, "compile": "cudagraphs"},
            "cannot work with lr_schedule = ConstantRate.* neither waits for the GPU nor changes",
        ),
        ({"clip_grad_norm": 0}, "clip_grad_norm"),
        ({"head_lr_factor": 0}, "head_lr_factor"),
    ],
)
def test_a_setting_that_there_is_not_is_refused_when_it_is_made(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_config(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": TORCH | {"name": "SGD", "params": {"momentum": -1}}}, "optimizer .* Invalid momentum value: -1"),
        (
            {"optimizer": TORCH | {"name": "Adagrad"}, "lr_schedule": TORCH | {"name": "OneCycleLR"}},
            "schedule .* must support momentum",
        ),
        ({"lr_schedule": TORCH | {"name": "StepLR", "params": {"step_size": 0}}}, "cannot be used: ZeroDivisionError"),
    ],
)
def test_what_torch_refuses_shows_before_a_training(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rehearse_optimizer(tiny_config(**changes))


ARM = Arm(
    name="adamw",
    settings=(
        ("loss.kind", "triplet"),
        ("margins", {"kind": "fixed", "epsilon": 0.25}),
        ("optimizer", {"kind": "torch", "name": "AdamW", "params": {"betas": (0.8, 0.99), "fused": False}}),
    ),
    space=Space(
        choices=(Choice(path="lr_schedule.warmup_epochs", values=(2, 0)),),
        ranges=(LogUniform(path="optimizer.params.weight_decay", low=1e-4, high=0.1),),
    ),
    searcher=Random(samples=2),
)
SETTINGS = [f"lr_schedule.{field}" for field in ("kind=torch", "name=MultiStepLR", "params.milestones=[1, 3]")]


def test_a_space_searches_settings_of_torch_and_the_command_line_changes_them(tmp_path: Path) -> None:
    study = MINI_STUDY.model_copy(update={"arms": (ARM,)})
    preset = with_changes(MINI, read_changes([*SETTINGS, "head_lr_factor=10"]))
    plan = Plan(study, preset, seed=0)
    low, high = plan.train_configs()[0], plan.train_configs()[-1]
    assert [dict(config.optimizer.params)["weight_decay"] for config in (low, high)] == [1e-4, 0.1]
    assert dict(low.optimizer.params).items() > {"betas": (0.8, 0.99), "fused": False}.items()
    assert dict(low.lr_schedule.params) == {"milestones": (1, 3)}
    assert (low.head_lr_factor, low.lr_schedule.warmup_epochs, high.lr_schedule.warmup_epochs) == (10, 2, 0)
    other = preset.model_copy(update={"settings": (*preset.settings, ("optimizer.params.momentum", 0.9))})
    with pytest.raises(ValueError, match=r"arm 'adamw': optimizer.params: unknown field 'momentum'; AdamW has betas"):
        Plan(study, other, seed=0).train_configs()


def test_what_torch_refuses_stops_a_plan(tiny_bank: Bank) -> None:
    given = ["optimizer.kind=torch", "optimizer.name=SGD", "optimizer.params.momentum=-1"]
    plan = Plan(MINI_STUDY, with_changes(MINI, read_changes(given)), seed=0)
    with pytest.raises(ValueError, match="Invalid momentum value: -1"):
        check_trainings(plan, tiny_bank.development())
