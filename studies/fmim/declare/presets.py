"""The sizes that every study comes in."""

from __future__ import annotations

from fmim.declare.study import Preset
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.suggestions import did_you_mean

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
        ("model.embedding_dim", 128),
        ("batches.subjects_per_batch", 32),
        ("batches.images_per_subject", 4),
        ("learning_rate", 1e-4),
        ("weight_decay", 1e-4),
        ("augmentation.crop", 256),
        ("epochs", 100),
        ("keep", "best"),
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


def find_preset(name: str) -> Preset:
    """The preset of that name, as most studies have it.

    Raises:
        ValueError: there is none of that name.
    """
    known = {preset.name: preset for preset in PRESETS}
    if name not in known:
        raise ValueError(f"unknown preset {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}")
    return known[name]
