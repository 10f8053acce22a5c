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

    entry: as study.json holds it. Its records have its name as `arm`, with a dot, so that no arm has such a name.
    train: a training of one of the arms that it stands beside, which are alike in all that its numbers need.
    """

    entry: ReferenceEntry
    reference: Reference
    train: TrainConfig


def references_of(
    trainings: Iterable[tuple[Arm, TrainConfig]], replicates_of: Callable[[Arm], int]
) -> list[PlannedReference]:
    """Return every kind of reference, once for trainings of tested arms that are alike in all that it depends on.

    One that depends on the seed has as many replicates as the arms beside it have at most, any other has one.
    """
    tested, found = [(arm, config) for arm, config in trainings if replicates_of(arm)], []
    for kind in REFERENCES.kinds():
        reference = REFERENCES.make({"kind": kind})
        alike: dict[str, list[tuple[Arm, TrainConfig]]] = {}
        for arm, config in (one for one in tested if not (reference.of_network and one[1].trainer)):
            alike.setdefault(fingerprint(reference.settings(config)), []).append((arm, config))
        arms_of = [list(dict.fromkeys(arm for arm, _ in group)) for group in alike.values()]
        several, words = len(alike) > 1, _told_apart(arms_of)
        for number, (group, arms) in enumerate(zip(alike.values(), arms_of, strict=True), start=1):
            _, train = group[0]
            entry = ReferenceEntry(
                name=f"reference.{kind}.{number}" if several else f"reference.{kind}",
                label=f"{reference.label(train)} ({words[number - 1]})" if several else reference.label(train),
                about=reference.about(train),
                arms=[arm.name for arm in arms],
                replicates=max(map(replicates_of, arms)) if reference.seeded else 1,
            )
            found.append(PlannedReference(entry, reference, train))
    return found


def _told_apart(found: Sequence[Sequence[Arm]]) -> list[str]:
    """Words for several references of one kind: the groups of their arms, or the arms, or else numbers."""
    words: tuple[Callable[[Arm], str], ...] = (lambda arm: arm.group or arm.loss, lambda arm: arm.label)
    for word in words:
        texts = [", ".join(dict.fromkeys(map(word, arms))) for arms in found]
        if len(set(texts)) == len(texts):
            return texts
    return [str(number) for number, _ in enumerate(found, start=1)]
