"""The sizes that every study comes in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from fmim_core.config import Config
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.records import Name, TestProtocol
from fmim_core.suggestions import did_you_mean
from fmim_spaces.domain import Assignment


class Preset(Config):
    """The size of a study: images, training, folds and replicates.

    Args:
        settings: training fields, dotted.
        image_size: side of the bank's images, px.
        phantom: the embedded cohort, used where no other data set is named.
        folds: of the search stage.
        replicates: fresh seeds of the selected configuration of each arm that the study compares with another.
        other_replicates: those of the arms that no comparison names; as many if nothing else is said.
        test_protocol: what each of these seeds trains and tests: one model `retrained` on all development subjects, or
            a `fold_ensemble`, as the paper's authors do: a model for each fold, whose distances are averaged.
        changed: what a run gave instead of the preset's own values (`--set`), for reports; they stand above as well.
    """

    name: Name
    about: str
    settings: tuple[Assignment, ...]
    image_size: PositiveInt
    phantom: PhantomConfig
    folds: Annotated[int, Field(ge=2)]
    replicates: NonNegativeInt
    other_replicates: NonNegativeInt | None = None
    test_protocol: TestProtocol = "retrained"
    changed: tuple[Assignment, ...] = ()


SMALL_NET = (
    ("model.kind", "small"),
    ("batches.subjects_per_batch", 16),
    ("batches.images_per_subject", 4),
    ("learning_rate", 2e-3),
)

SMOKE = Preset(
    name="smoke",
    about="does it run: a minute on 2 cores, numbers without meaning",
    settings=(*SMALL_NET, ("batches.subjects_per_batch", 8), ("augmentation.crop", 32), ("epochs", 2)),
    image_size=35,
    phantom=PhantomConfig(train_subjects=24, test_subjects=12, acquisition=3),
    folds=2,
    replicates=2,
)
"""The preset `smoke`."""

QUICK = Preset(
    name="quick",
    about="the whole protocol on small images, 100 steps per training: minutes on 2 cores",
    settings=(
        *SMALL_NET,
        ("batches.per_epoch", 5),
        ("augmentation.crop", 64),
        ("epochs", 20),
        ("validate_every", 5),
    ),
    image_size=70,
    phantom=PhantomConfig(ageing=1.5, acquisition=3),
    folds=3,
    replicates=10,
    other_replicates=3,
)
"""The preset `quick`."""

FULL = Preset(
    name="full",
    about="ResNet-18 from scratch at 128 px: minutes to hours on one GPU",
    settings=(("model.kind", "resnet18"), ("augmentation.crop", 128), ("epochs", 100), ("validate_every", 5)),
    image_size=140,
    phantom=PhantomConfig(train_subjects=300, test_subjects=150, acquisition=3),
    folds=5,
    replicates=5,
)
"""The preset `full`."""

PAPER = Preset(
    name="paper",
    about="the paper's protocol: pretrained ResNet-18 at 256 px, float32, 100 epochs, 5 seeds of 5 fold models each",
    settings=(
        ("model.kind", "resnet18"),
        ("model.weights", "imagenet"),
        ("model.first_layer", "random"),
        ("model.embedding_dim", 128),
        ("batches.subjects_per_batch", 32),
        ("batches.images_per_subject", 4),
        ("learning_rate", 1e-4),
        ("weight_decay", 1e-4),
        ("augmentation.crop", 256),
        ("epochs", 100),
        ("keep", "best_all_pairs"),
        ("precision", "float32"),
    ),
    image_size=280,
    phantom=PhantomConfig(train_subjects=1000, test_subjects=500, acquisition=3),
    folds=5,
    replicates=5,
    test_protocol="fold_ensemble",
)
"""The preset `paper`."""

PRESETS = (SMOKE, QUICK, FULL, PAPER)
"""Those that a study has unless it declares its own."""


def find_preset(name: str, presets: Sequence[Preset] = PRESETS, where: str = "there are") -> Preset:
    """Return the preset of that name.

    Raises:
        ValueError: there is none; the message lists those there are.
    """
    known = {preset.name: preset for preset in presets}
    if name not in known:
        raise ValueError(f"unknown preset {name!r}; {where} {', '.join(known)}{did_you_mean(name, known)}")
    return known[name]
