"""The specification of a trial: configuration × replicate, with everything that decides its result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fmim_core.config import Config
from fmim_core.fingerprint import fingerprint
from fmim_core.records import OF_WINNER, ON_FOLDS, Record, Stage, TestProtocol, trial_name
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.seeding import derive_seed
from fmim_core.training.config import TrainConfig
from fmim_core.trial.cost import environment

# Part of every trial's fingerprint. Raise it whenever the same configuration would give other numbers.
RESULTS_VERSION = 6


class TrialSpec(Config):
    """Everything that decides a trial's result, and where it stands in its study.

    Args:
        number: of the configuration in its arm's space.
        variation: the setting of a selected configuration that is changed, and by what factor, as `epochs_x3`; `train`
            has the changed value.
        another_seed: whether its seed is another one than that of its fold's search trials.
        replicate: the fold in the stages on folds, the number of the fresh seed in the replicate stage.
        folds: of the cross-validation.
        test_protocol: what a replicate trains and tests; fold models are of the study's own split into folds.
        data: name, release and checksums of the data set's tables, for the record.
        weights_sha256: of the file that the network's weights come from; None where they are random.
        search_split: which split of the development subjects into folds its search is on; 0 is the study's own. In the
            replicate stage: of which one it trains the winner.
        study_seed: folds and every trial's seed derive from it, alike for all arms, so that comparisons are paired.
        rungs: epochs after which its search may stop it.
        reference: what is evaluated in the reference stage, where `arm` is the name of the reference and `train` the
            training of an arm that it stands beside; no epoch is run.
        code: the SHA-256 of the study's own files; blank for a study that is declared in this package.
    """

    study: str
    preset: str
    arm: str
    number: int
    configuration: dict[str, Any]
    stage: Stage
    variation: str | None = None
    another_seed: bool = False
    replicate: int = Field(ge=0)
    folds: int
    test_protocol: TestProtocol
    search_split: int = Field(0, ge=0)
    study_seed: int
    train: TrainConfig
    weights_sha256: str | None
    bank: Path
    bank_fingerprint: str
    data: dict[str, Any]
    rungs: tuple[int, ...] = ()
    reference: Annotated[Reference, REFERENCES] | None = None
    code: str = ""

    @property
    def id(self) -> str:
        """Its name, by `records.trial_name`."""
        return trial_name(self.arm, self.number, self.stage, self.replicate, self.search_split, self.variation)

    @property
    def fold(self) -> int | None:
        """The fold held out, if any."""
        return self.replicate if self.stage in ON_FOLDS else None

    @property
    def of_winner(self) -> bool:
        """True where it is trained only if its configuration is selected."""
        return self.stage in OF_WINNER

    @property
    def seed(self) -> int:
        """The trial's seed: shared by all configurations of all arms with the same replicate, and by references.

        A variation has the seed of its fold's search trials, unless it is one of the seed. The folds of another search
        split have seeds of their own.
        A fresh seed is the same one whoever's winner it trains: it depends on its number alone.
        """
        stage = "search" if self.stage in ON_FOLDS else "replicate"
        other = (self.search_split,) if self.search_split and stage == "search" else ()
        another = ("another",) if self.another_seed else ()
        return derive_seed(self.study_seed, stage, *other, *another, self.replicate)

    @property
    def folds_seed(self) -> int:
        """The seed of the split into folds that the trial is on: its search's, or for a replicate the study's own."""
        return folds_seed(self.study_seed, self.search_split if self.stage in ON_FOLDS else 0)

    @property
    def epochs(self) -> int:
        """Epochs that it trains: none in the reference stage."""
        return self.train.epochs if self.reference is None else 0

    @property
    def keeps_model(self) -> bool:
        """True where the weights of its model are kept, once it is completed."""
        return self.stage == "replicate" and self.train.resumable

    @property
    def reads_test_set(self) -> bool:
        """True where its stage measures on the test set."""
        return self.stage not in ON_FOLDS

    @property
    def _settings(self) -> dict[str, Any]:
        """The part of the training configuration that decides the result."""
        if self.reference is not None:
            return self.reference.model_dump(mode="json") | self.reference.settings(self.train)
        return self.train.model_dump(mode="json")

    @property
    def _weights(self) -> dict[str, str]:
        """The weights in a record; nothing where there are none, or the result does not depend on them."""
        uses_them = "model" in self._settings and self.weights_sha256 is not None
        return {"weights_sha256": str(self.weights_sha256)} if uses_them else {}

    @property
    def fingerprint(self) -> str:
        """Equal for trials with equal results: the folder's place and the trial's name do not count."""
        names = {"stage", "replicate", "folds", "study_seed", "bank_fingerprint"}
        # The search split decides a search trial's folds and seed; the study's own is not named, as before there were
        # others. A replicate's result does not depend on which search found its configuration.
        if self.search_split and self.stage == "search":
            names.add("search_split")
        if self.stage == "replicate":
            names.add("test_protocol")
        if self.another_seed:
            names.add("another_seed")
        if self.code:
            names.add("code")
        # What is not compiled is named as it was before there was a choice, so that its records stay valid.
        train = {name: value for name, value in self._settings.items() if (name, value) != ("compile", "none")}
        # A file that was given is what is in it, wherever it lies; published weights are known by their name.
        if "model" in train and self.train.model.given_file is not None and self.weights_sha256 is not None:
            train["model"] |= {"weights": self.weights_sha256}
        parts = self.model_dump(mode="json", include=names)
        if self.stage == "variation":  # the same as a search trial of these settings, whose record it can take
            parts["stage"] = "search"
        return fingerprint(parts | {"results_version": RESULTS_VERSION, "train": train})

    def check_weights(self) -> None:
        """Check that the weights are here what they were where the study was planned.

        Raises:
            ValueError: they are not.
            OSError: published weights cannot be downloaded.
        """
        if self._weights and self.train.model.weights_sha256() != self.weights_sha256:
            raise ValueError("the file of the model's weights has changed since the study was planned: use --fresh")

    def record(self, started_at: str) -> Record:
        """Return a record with all that is known before the trial runs: of one that has failed, if nothing follows."""
        return Record(
            trial=self.id,
            study=self.study,
            preset=self.preset,
            arm=self.arm,
            configuration=self.configuration,
            stage=self.stage,
            variation=self.variation,
            replicate=self.replicate,
            fold=self.fold,
            search_split=self.search_split,
            seed=self.seed,
            status="failed",
            fingerprint=self.fingerprint,
            started_at=started_at,
            ended_at=started_at,
            environment=environment() | self._weights,
            config=self._settings,
            data=self.data | {"bank": self.bank_fingerprint},
        )


def folds_seed(study_seed: int, search_split: int) -> int:
    """Return the seed of a split of the development subjects into folds; of the study's own it is that of the study."""
    return derive_seed(study_seed, "folds", *((search_split,) if search_split else ()))
