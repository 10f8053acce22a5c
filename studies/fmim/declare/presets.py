"""The presets: sizes of a study, from a smoke test to the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt

from fmim_core.config import Config
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.records import SEED, Name, TestProtocol, flat
from fmim_core.suggestions import did_you_mean
from fmim_spaces.domain import Assignment

if TYPE_CHECKING:
    from fmim_core.training.config import TrainConfig


def _dotted(given: Any) -> Any:
    """Return assignments of pairs or a mapping, with mappings within them dotted; anything else as it is."""
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        return tuple(chain.from_iterable(flat(dict([pair])) for pair in pairs))
    except (TypeError, ValueError):  # no pairs: pydantic says so
        return given


Settings = Annotated[tuple[Assignment, ...], BeforeValidator(_dotted)]
"""Assignments to training fields: pairs, ("loss.kind", "sct"), or nested, {"loss": {"kind": "sct"}}."""


class Variation(Config):
    """A training setting that is multiplied by a factor, to see if the result of a comparison depends on it.

    With the setting `seed` only the seed changes: how much of the winner's score was luck?
    """

    setting: str
    factor: Annotated[float, Field(gt=0)] = 1

    @property
    def another_seed(self) -> bool:
        """True if it changes only the seed."""
        return self.setting == SEED

    @property
    def name(self) -> str:
        """The setting and the factor, as a part of trials' names: `epochs_x3`; or `another_seed`."""
        return "another_seed" if self.another_seed else f"{self.setting.replace('.', '_')}_x{self.factor:g}"

    def of(self, train: TrainConfig) -> tuple[Assignment, ...]:
        """Return the setting with its value in a training, multiplied, if it has one; whole numbers stay whole."""
        if self.another_seed:
            return ()
        value: Any = train
        for part in self.setting.split("."):
            value = getattr(value, part)
        return ((self.setting, round(value * self.factor) if isinstance(value, int) else value * self.factor),)


class Preset(Config):
    """The size of a study: images, training, folds and replicates.

    Args:
        settings: training fields, dotted.
        image_size: side of the images in pixels.
        phantom: the built-in cohort, used unless another data set is given.
        folds: number of folds of the search.
        replicates: fresh seeds of each compared arm, trained at its selected configuration.
        other_replicates: fresh seeds of arms that no comparison names; by default the same number.
        test_protocol: each of these seeds trains and tests either one model `retrained` on all development subjects, or
            a `fold_ensemble`, as the paper's authors do: a model for each fold, whose distances are averaged.
        variations: changes, one at a time, to a setting or the seed of the selected configuration of each
            compared arm, which is trained on the folds again: a result that changes with one is not about methods.
        equivalence_margin: two arms are on par if their test metrics differ by less than this; fixed before the run, so
            that nobody chooses it to suit a result.
        answers: whether the training is long enough for its numbers to say anything about methods.
        changed: values that a run set with `--set`, for reports; the fields above have them, too.
    """

    name: Name
    about: str
    settings: Settings
    image_size: PositiveInt
    phantom: PhantomConfig
    folds: Annotated[int, Field(ge=2)]
    replicates: NonNegativeInt
    other_replicates: NonNegativeInt | None = None
    test_protocol: TestProtocol = "retrained"
    variations: tuple[Variation, ...] = ()
    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] = 0.01
    answers: bool = True
    changed: tuple[Assignment, ...] = ()


SMALL_NET = (
    ("model.kind", "small"),
    ("batches.subjects_per_batch", 16),
    ("batches.images_per_subject", 4),
    ("learning_rate", 2e-3),
)

VARIATIONS = (
    Variation(setting=SEED),
    Variation(setting="epochs", factor=3),
    Variation(setting="learning_rate", factor=0.5),
    Variation(setting="learning_rate", factor=2),
)

SMOKE = Preset(
    name="smoke",
    about="a test run of a minute on 2 cores, whose numbers mean nothing",
    settings=(*SMALL_NET, ("batches.subjects_per_batch", 8), ("augmentation.crop", 32), ("epochs", 2)),
    image_size=35,
    phantom=PhantomConfig(train_subjects=24, test_subjects=12, acquisition=3),
    folds=2,
    replicates=2,
    variations=VARIATIONS[-1:],
    answers=False,
)
"""The preset `smoke`."""

QUICK = Preset(
    name="quick",
    about="the whole protocol on small images, 300 steps per training, 6 to 8 minutes on 2 cores",
    settings=(*SMALL_NET, ("batches.per_epoch", 5), ("augmentation.crop", 64), ("epochs", 60), ("validate_every", 15)),
    image_size=70,
    phantom=PhantomConfig(test_subjects=200, ageing=1.5, acquisition=3),
    folds=2,
    replicates=10,
    other_replicates=2,
    variations=VARIATIONS,
    equivalence_margin=0.02,
)
"""The preset `quick`."""

FULL = Preset(
    name="full",
    about="ResNet-18 from scratch at 128 px, minutes to hours on one GPU",
    settings=(("model.kind", "resnet18"), ("augmentation.crop", 128), ("epochs", 100), ("validate_every", 5)),
    image_size=140,
    phantom=PhantomConfig(train_subjects=300, test_subjects=150, acquisition=3),
    folds=5,
    replicates=5,
    variations=VARIATIONS,
)
"""The preset `full`."""

PAPER = Preset(
    name="paper",
    about="the paper's protocol, a pretrained ResNet-18 at 256 px, float32, 100 epochs, 5 seeds of 5 fold models each",
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
"""The presets of a study that declares none itself."""


def find_preset(name: str, presets: Sequence[Preset] = PRESETS, where: str = "there are") -> Preset:
    """Return the preset of that name.

    Raises:
        ValueError: there is none; the message lists those there are.
    """
    known = {preset.name: preset for preset in presets}
    if name not in known:
        raise ValueError(f"unknown preset {name!r}; {where} {', '.join(known)}{did_you_mean(name, known)}")
    return known[name]
