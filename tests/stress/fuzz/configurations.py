"""Configurations: fields of every kind of them, and `--set`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fmim import catalogue
from fmim.commands.options import Options
from fmim.declare import Study
from fmim.declare.presets import PRESETS, find_preset
from fmim.runner.run import plan_of
from fmim_core.config import Config
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.manifest_settings import ManifestSettings
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_spaces.domain import Choice, LogUniform, Space, Uniform
from fmim_spaces.searchers import Grid
from fmim_spaces.searchers import Random as RandomSearch
from fmim_spaces.successive_halving import ASHA
from tests.stress.fuzz.guard import Input, Wrong
from tests.stress.fuzz.mutations import TEXTS, harmed, misspelt, same_types, value
from tests.support.mini_study import MINI, MINI_STUDY, first_search_trials, mini_plan

AS_MEANT = {"values", "settings", "start", "changed"}
"""Fields in which a number may be written as text."""
FIELDS = (
    *("epochs", "learning_rate", "weight_decay", "validate_every", "histogram_bins", "keep", "precision", "compile"),
    *("model.kind", "model.embedding_dim", "model.widths", "model.weights", "model", "batches", "identity", "folds"),
    *("batches.subjects_per_batch", "batches.images_per_subject", "batches.per_epoch", "augmentation.crop"),
    *("augmentation.mean", "augmentation.std", "augmentation.flip", "image_size", "test_protocol", "phantom", "seed"),
    *("phantom.train_subjects", "phantom.mirror_right", "phantom.ageing", "loss.kind", "margins.epsilon", "arms", "."),
)


def drawn(random: Random, folder: Path) -> Input:
    """One input."""
    return random.choice((setting, field, field))(random, folder)


def setting(random: Random, folder: Path) -> Input:
    """A study with `--set`; what was accepted is in the trainings as it was written."""
    study, preset = random.choice(catalogue.names()), random.choice(PRESETS).name
    name, text = random.choice(FIELDS), random.choice(TEXTS) if random.random() < 0.6 else str(value(random))
    name = misspelt(name, random) if random.random() < 0.1 else name

    def call() -> None:
        plan = plan_of(Options(study, preset, changes=[f"{name}={text}"], out=folder / "out"))
        for made in (plan.preset.model_dump(), *(config.model_dump() for config in plan.train_configs()[:3])):
            found: Any = made
            for part in name.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if found is not None and not isinstance(found, dict | list | tuple) and not is_written(text, found):
                raise Wrong(f"{name} is {found!r}")

    return Input(f"{study} --preset {preset} --set {name}={text[:80]!r}", call)


def is_written(text: str, found: object) -> bool:
    """Whether a value is what the text says."""
    if isinstance(found, bool):
        return text == str(found).lower()
    if isinstance(found, int | float):
        return text.isascii() and "_" not in text and float(text) == found
    return text == found


def field(random: Random, folder: Path) -> Input:
    """A configuration with fields harmed; what was accepted holds values of the types that were given."""
    kind, fields = random.choice(valid(folder))
    given = harmed(fields, random)

    def call() -> None:
        made = kind.model_validate(given)
        loose = AS_MEANT if isinstance(given, dict) else set()
        if not same_types({key: part for key, part in given.items() if key not in loose}, dict(made)):
            raise Wrong(f"became {made!r}"[:300])

    return Input(f"{kind.__name__}.model_validate({given!r})"[:600], call)


@cache
def valid(folder: Path) -> list[tuple[type[Config], dict[str, Any]]]:
    """Configurations of every kind as plain fields."""
    spec = first_search_trials(mini_plan(), bank(folder))[0]
    space = Space(
        choices=(Choice(path="margins.beta", values=(0.1, 0.2)),),
        ranges=(Uniform(path="margins.epsilon", low=0, high=1), LogUniform(path="loss.lam", low=0.1, high=2)),
    )
    made: list[Config] = [spec, space, *space.choices, *space.ranges, MINI, find_preset("paper"), PhantomConfig()]
    made += [ManifestSettings(mean=0.5, std=0.25), Grid(), RandomSearch(samples=4), ASHA(samples=9)]
    made += [MINI_STUDY, MINI_STUDY.arms[0]]
    trainings = [
        config for name in catalogue.names() for config in plan_of(Options(name, "quick")).train_configs()[::7]
    ]
    plain = [(type(one), plain_fields(one)) for one in (*made, *trainings)]
    parts = [part for one in trainings for part in (one.loss, one.margins, one.model, one.batches, one.augmentation)]
    return plain + [(type(part), plain_fields(part)) for part in dict.fromkeys(parts)]


def plain_fields(config: Config) -> dict[str, Any]:
    """Its fields, in plain values where it is made of those again."""
    if isinstance(config, Study):
        return dict(config)
    fields = config.model_dump() if not hasattr(config, "searcher") else dict(config)
    return {key: list(part) if isinstance(part, tuple) else part for key, part in fields.items()}


@cache
def bank(folder: Path) -> Bank:
    """A small one."""
    return build_bank(PhantomSource(MINI.phantom), MINI.image_size, folder / "banks")
