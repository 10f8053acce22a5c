"""A trainer of one's own: the guide's, as it stands, killed and resumed, and with every fault that a plan finds."""

from __future__ import annotations

import importlib.util
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fmim
from fmim.own.study_file import located, read_study_file
from fmim.plan import Plan
from fmim.plan.checks import check_trainings
from fmim.runner.reuse.shared_records import read_usable, write_copy
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Record, StudyFile, read_records
from fmim_core.trial.checkpoint import checkpoint_path
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.documents import comparable
from tests.support.mini_study import MINI, NO_TRACKER
from tests.support.own_files import guide_files, write_files
from tests.support.program import Program

pytestmark = pytest.mark.usefixtures("no_figures", "own_code")

GUIDE = guide_files("training-loop")
INLINE = ("--preset", "smoke", "--backend", "inline", "--gpus-per-trial", "0", "--tracking-uri", NO_TRACKER)
WITHOUT_STATE = ("    def state(self)", "    def _state(self)"), ("    def load_state(self", "    def _load_state(self")


def plan_of(folder: Path, *changes: tuple[str, str], epochs: int = 3, name: str = "plain_loop.py") -> Plan:
    """The plan of the guide's study with texts replaced by others, of the smallest preset."""
    text = GUIDE[name]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    (folder / name).write_text(text, encoding="utf-8")
    settings = tuple(one for one in MINI.settings if one[0] != "epochs")
    preset = MINI.model_copy(update={"settings": (*settings, ("epochs", epochs))})
    return Plan(read_study_file(folder / name), preset, seed=0)


def trial_of(plan: Plan, bank: Bank, stage: str = "search") -> TrialSpec:
    arm = plan.arms[1]
    return getattr(plan, stage)(arm, 0, {}, bank)[0]


def interrupted(spec: TrialSpec, out: Path, epochs: int) -> Record:
    """A trial that is killed after so many epochs, and then run again."""
    settings = RunSettings(out, "cpu", checkpoint_every_s=0)
    killed = Trial(spec, settings)
    for _ in range(epochs):
        killed.step()
    return Trial(spec, settings).run()


@pytest.mark.parametrize("stage", ["search", "replicate"])
@pytest.mark.parametrize("changes", [(), WITHOUT_STATE], ids=["with state", "without"])
def test_a_killed_trial_ends_as_an_undisturbed_one(
    tiny_bank: Bank, tmp_path: Path, stage: str, changes: tuple[tuple[str, str], ...]
) -> None:
    spec = trial_of(plan_of(tmp_path, *changes), tiny_bank, stage)
    undisturbed = Trial(spec, RunSettings(tmp_path / "a", "cpu")).run()
    assert (undisturbed.status, undisturbed.error) == ("completed", None)
    resumed = interrupted(spec, tmp_path / "b", 2)
    assert comparable(resumed) == comparable(undisturbed)
    assert resumed.cost.resumed == (0 if changes else 1)
    assert [set(row.own or {}) for row in resumed.history] == [{"steps"}] * 3
    if stage == "replicate":
        assert resumed.cost.images == 3 * len(tiny_bank.development())
    assert checkpoint_path(tmp_path / "b", spec.id).exists() == (stage == "replicate" and not changes)


def test_a_fold_ensemble_of_its_best_epochs_resumes_within_a_member(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    settings = (*plan.preset.settings, ("keep", "best"))
    update = {"test_protocol": "fold_ensemble", "settings": settings}
    spec = trial_of(replace(plan, preset=plan.preset.model_copy(update=update)), tiny_bank, "replicate")
    undisturbed = Trial(spec, RunSettings(tmp_path / "a", "cpu")).run()
    assert undisturbed.status == "completed"
    assert len(undisturbed.members) == 2
    assert comparable(interrupted(spec, tmp_path / "b", 4)) == comparable(undisturbed)


def test_embeddings_are_what_the_trainer_embeds_and_settings_those_of_its_arm(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ('Arm(name="as_it_was")', 'Arm(name="as_it_was", settings=(("trainer.width", 5),))'))
    spec = trial_of(plan, tiny_bank)
    assert spec.train.model_dump(mode="json") == {
        "trainer": {"kind": "PlainLoop", "lr": 1e-3, "width": 5},
        "epochs": 3,
        "validate_every": 1,
        "identity": "subject",
        "keep": "last",
        "augmentation": {"crop": 28},
    }
    assert TrialSpec.model_validate_json(spec.model_dump_json()).fingerprint == spec.fingerprint
    assert pickle.loads(pickle.dumps(spec)).train.model_dump() == spec.train.model_dump()
    other = spec.model_copy(update={"train": plan.train_config(plan.arms[0], {"lr": 0.01})})
    assert other.fingerprint != spec.fingerprint


FAULTS = {
    "has no embed": ("    def embed", "    def embeds", r"line \d+: .*PlainLoop lacks the method embed; it has fit"),
    "has half a state": ("    def load_state", "    def restore", "lacks the method load_state"),
    "yields nothing": ("while self.done < config.epochs:", "while False:", r"fit ended before epoch 1 of 3"),
    "yields no numbers": ('yield {"loss": sum(losses) / len(losses), "steps": len(losses)}', "yield 1", "by name"),
    "returns its rows": ('yield {"loss"', 'return {"loss"', r"fit must yield, not return, .*: \[\{'loss'"),
    "embeds by the others": ("eval()(images)", "eval()(images - images.mean(0))", "embeds an image differently beside"),
    "embeds other shapes": ("eval()(images)", "eval()(images)[0]", r"embed must return \(\d+, D\) .*not \(16,\)"),
    "embeds no numbers": ("eval()(images)", "eval()(images) / 0", r"line \d+: embed returned numbers that are not fin"),
    "raises": ("losses = [", "losses = {}[0] or [", r"plain_loop.py, line \d+: .*PlainLoop.* KeyError: 0"),
    "keeps no epoch": ('self.done = state["done"]', "self.done = 0", "load_state: a fit resumed from state"),
    "keeps no optimizer": ("self.optimizer.load_state_dict", "str", "load_state: a fit resumed from state"),
    "has a misspelt field": ("trainer.lr", "trainer.rl", "unknown field 'rl'; PlainLoop has kind, lr, width"),
    "refuses a value": ('"as_it_was"', '"as_it_was", settings=(("trainer.width", 0),)', "trainer.width: .* than 0"),
    "has no such field": (
        'name="as_it_was"',
        'name="as_it_was", settings=(("learning_rate", 1.0),)',
        "has trainer, epo",
    ),
    "takes a name": ("lr: PositiveFloat", "kind: str = ''; lr: PositiveFloat", "reserved names: kind"),
    "is not given": ("    trainer=PlainLoop,\n", "", "arm 'searched' has no loss"),
    "has one arm in no tuple": (
        'arms=(SEARCHED, Arm(name="as_it_was"))',
        "arms=(SEARCHED)",
        r"line \d+: Study: arms.0: Input",
    ),
    "is no class": ("trainer=PlainLoop,", "trainer=PlainLoop(),", "must be a class"),
    "has another Config": ("class Config(BaseModel)", "class Config", "Config must be a pydantic model"),
}


@pytest.mark.parametrize(("old", "new", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_before_anything_starts(
    tiny_bank: Bank, tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message), located(tmp_path):  # noqa: PT012
        plan = plan_of(tmp_path, (old, new))
        check_trainings(plan, tiny_bank.development())


def test_without_a_state_it_trains_the_same_whatever_chance_and_embeddings_do(tiny_bank: Bank, tmp_path: Path) -> None:
    for others in ([], [("eval()(images)", "eval()(images).mul(0)")]):  # nothing is wrong with zeros, but their scores
        check_trainings(plan_of(tmp_path, *WITHOUT_STATE, *others), tiny_bank.development())
    drawn = ("torch.manual_seed(seed + self.done)", "torch.seed()")
    once = (
        ("while self.done < config.epochs:\n            self.network.train()", "while self.done < config.epochs:"),
        ("nn.ReLU(), ", "nn.ReLU(), nn.BatchNorm1d(config.width), "),
    )
    for changes in ([drawn], once):
        with pytest.raises(ValueError, match=r"fit trains differently with the same seed, or after embedding"):
            check_trainings(plan_of(tmp_path, *WITHOUT_STATE, *changes), tiny_bank.development())


def test_a_record_of_a_trainer_without_a_state_stands_for_an_equal_trial(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, *WITHOUT_STATE)
    spec, out = trial_of(plan, tiny_bank, "replicate"), tmp_path / "a"
    path = Trial(spec, RunSettings(out, "cpu")).run().path(out)
    usable = read_usable(path, spec, on_gpu=False)
    assert write_copy(path, usable, spec, tmp_path / "b", "a").metrics == usable.metrics


def test_a_trainer_that_no_arm_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has a trainer, but each arm has a loss"):
        plan_of(
            tmp_path,
            ('arms=(SEARCHED, Arm(name="as_it_was"))', "arms=(Arm(name='own', settings={'loss.kind': 'sct'}),)"),
            ('    baseline="searched",\n', ""),
        )


@pytest.mark.slow
def test_the_guides_study_runs_and_its_report_says_whose_trainer_it_was(tmp_path: Path, fmim_here: Program) -> None:
    write_files(tmp_path, GUIDE)
    assert fmim_here("plain_loop.py", *INLINE, cwd=tmp_path).returncode == 0
    out = tmp_path / "runs" / "plain_loop"
    records = list(read_records(out))
    assert {record.status for record in records} == {"completed"}
    assert len(records) == 4 * 2 + 2 * 2 + 2
    study = StudyFile.read(out / "study.json")
    assert [arm.trainer for arm in study.arms] == ["PlainLoop", "PlainLoop"]
    said = "PlainLoop (plain_loop.py) trained PlainLoop + random search, PlainLoop"
    assert said in (out / "report" / "report.md").read_text(encoding="utf-8")
    assert said in (out / "report" / "methods.md").read_text(encoding="utf-8")
    model = fmim.load_model(out, "as_it_was", device="cpu")
    found = model.embed(np.zeros((3, 35, 35), dtype=np.uint8))
    assert found.shape == (3, 16)
    refused = fmim_here("plain_loop.py", *INLINE, "--set", "epoch=5", cwd=tmp_path)
    assert (refused.returncode, "Did you mean 'epochs'?" in refused.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("lightning") is None, reason="the package lightning is not installed")
def test_the_guides_module_of_lightning_trains_and_resumes(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, name="lightning_loop.py")
    check_trainings(plan, tiny_bank.development())
    spec = plan.search(plan.arms[0], 0, {"lr": 0.01}, tiny_bank)[0]
    undisturbed = Trial(spec, RunSettings(tmp_path / "a", "cpu")).run()
    assert undisturbed.status == "completed"
    assert comparable(interrupted(spec, tmp_path / "b", 2)) == comparable(undisturbed)
