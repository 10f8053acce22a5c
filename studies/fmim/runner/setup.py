"""The place and means with which a plan runs. This imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fmim.runner.folder.study_folder import check_folder
from fmim.runner.tracking.address import TrackingAddress
from fmim_core.records import StudyFile, check_place


@dataclass(frozen=True)
class Setup:
    """The place and means with which a plan runs; its folders are absolute.

    Args:
        folder: the study's. studies: of all studies, whose completed trials are reused. banks: of decoded images.
        tracking_uri: MLflow's database or server, or @FILE; None for that of FMIM_TRACKING_URI, or else the database in
            the folder of all studies.
        data: the data set's name or file, in the folder data_root if that is given.
        gpus_per_trial: None for one where there is a GPU.
        selected: the folder of the study whose winners the arms have.
        reuse: whether equal trials share a record.
        fresh: whether a folder that is there is moved aside.
        remake_weights: whether finished trials whose weights are lost are trained again.
        code: the folder of the file that declares the study; None for a study that is declared elsewhere.
        command: goes on with the study, where there is such a command.
    """

    folder: Path
    studies: Path
    banks: Path
    data: str
    data_root: Path | None = None
    backend: Literal["ray", "inline"] = "ray"
    address: str | None = None
    cpus_per_trial: float = 1.0
    gpus_per_trial: float | None = None
    tracking_uri: str | None = field(default=None, repr=False)  # it may hold a password
    selected: Path | None = None
    reuse: bool = True
    fresh: bool = False
    remake_weights: bool = False
    code: Path | None = None
    command: str | None = None

    @property
    def tracking(self) -> TrackingAddress:
        """MLflow's database or server.

        Raises:
            ValueError: one that MLflow does not take.
        """
        return TrackingAddress.named(self.tracking_uri) or TrackingAddress.beside(self.studies / self.folder.name)

    def check_folders(self, study: str) -> None:
        """Check that the study's folder is new, empty, or the study's own, and that banks can lie where they are to.

        Raises:
            ValueError: one of them is a file, or the study's folder holds what no study writes, or is another study's.
        """
        mirror = () if self.fresh else self.tracking.files_in(self.folder)
        check_folder(self.folder, study, self.fresh, mirror)
        if not self.banks.is_dir():
            check_place(self.banks)

    def check_selected_on(self, data_fingerprint: str) -> None:
        """Raise a `ValueError` if the selection was made on another data set, perhaps on these test subjects."""
        path = self.selection_file("study.json")
        if path is not None and (data := StudyFile.read(path).data).fingerprint != data_fingerprint:
            raise ValueError(
                f"--selected {self.selected} was selected on other data ({data.name}): select on the same data first"
            )

    def selection_file(self, name: str) -> Path | None:
        """Return a file of the folder whose winners the arms have; None where they have their own.

        Raises:
            ValueError: it is not there.
        """
        if self.selected is None:
            return None
        if not (self.selected / name).is_file():
            raise ValueError(
                f"--selected {self.selected} has no {name}: give the folder of a study whose search is over"
            )
        return self.selected / name
