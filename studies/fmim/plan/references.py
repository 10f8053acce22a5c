"""The references of a study: what stands beside its arms in the report though no training made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fmim.declare import Arm
from fmim_core.fingerprint import fingerprint
from fmim_core.records import ReferenceEntry
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.training.config import TrainConfig


@dataclass(frozen=True)
class PlannedReference:
    """A reference of a study.

    Args:
        name: what its records have as `arm`; it has a dot, so that no arm has such a name.
        train: a training of one of the arms that it stands beside, which are alike in all that its numbers need.
        replicates: as many as the arms beside it have at most where it depends on the seed, else one.
    """

    name: str
    label: str
    reference: Reference
    train: TrainConfig
    arms: tuple[Arm, ...]
    replicates: int

    def entry(self) -> ReferenceEntry:
        """The reference as study.json holds it."""
        return ReferenceEntry(
            name=self.name,
            label=self.label,
            about=self.reference.about(self.train),
            arms=[arm.name for arm in self.arms],
            replicates=self.replicates,
        )


Training = tuple[Arm, TrainConfig]


def references_of(trainings: Iterable[Training], replicates_of: Callable[[Arm], int]) -> list[PlannedReference]:
    """Every kind of reference, once for trainings that are alike in all that it depends on, of arms with replicates."""
    tested = [(arm, config) for arm, config in trainings if replicates_of(arm)]
    return [planned for kind in REFERENCES.kinds() for planned in _of_kind(kind, tested, replicates_of)]


def _of_kind(kind: str, trainings: Iterable[Training], replicates_of: Callable[[Arm], int]) -> list[PlannedReference]:
    reference = REFERENCES.make({"kind": kind})
    alike: dict[str, list[Training]] = {}
    for arm, config in trainings:
        alike.setdefault(fingerprint(reference.settings(config)), []).append((arm, config))
    found = [(tuple(dict.fromkeys(arm for arm, _ in of_it)), of_it[0][1]) for of_it in alike.values()]
    endings = [""] if len(found) == 1 else [f" ({text})" for text in _told_apart([arms for arms, _ in found])]
    return [
        PlannedReference(
            name=f"reference.{kind}" + (f".{number}" if len(found) > 1 else ""),
            label=reference.label(config) + ending,
            reference=reference,
            train=config,
            arms=arms,
            replicates=max(map(replicates_of, arms)) if reference.seeded else 1,
        )
        for number, ((arms, config), ending) in enumerate(zip(found, endings, strict=True), start=1)
    ]


def _told_apart(found: Sequence[Sequence[Arm]]) -> list[str]:
    """Words for several references of one kind: the groups of their arms, or the arms, or else numbers."""
    words: tuple[Callable[[Arm], str], ...] = (lambda arm: arm.group or arm.loss, lambda arm: arm.label)
    for word in words:
        texts = [", ".join(dict.fromkeys(map(word, arms))) for arms in found]
        if len(set(texts)) == len(texts):
            return texts
    return [str(number) for number, _ in enumerate(found, start=1)]
