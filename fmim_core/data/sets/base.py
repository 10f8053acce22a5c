"""Base of named data sets, which read the tables of the folder that they were downloaded to."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from pathlib import Path

from fmim_core.data.listings.listing import Listing
from fmim_core.registry import KindConfig, Registry


class DataSet(KindConfig):
    """A data set in files, known by its kind (`--data KIND --data-root DIR`). Its docstring begins with what it is."""

    @abstractmethod
    def listing(self, root: Path, metadata_only: bool) -> Listing:
        """List every image of the folder `root`, usable or not, with all that was found wrong.

        Args:
            metadata_only: read the tables and look for no image; such a listing describes, and cannot be read.

        Raises:
            ValueError: the tables are missing or cannot be read.
        """

    @classmethod
    def about(cls) -> str:
        """Return the first line of its docstring."""
        return (inspect.getdoc(cls) or "").partition("\n")[0]


DATA_SETS: Registry[DataSet] = Registry("data set", "fmim_core.data.sets")
"""The data sets there are, by kind."""
