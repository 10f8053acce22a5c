"""The Osteoarthritis Initiative as a named data set; what is read and how is in `fmim_core.data.oai`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fmim_core.data.listings.listing import Listing
from fmim_core.data.oai.listing import oai
from fmim_core.data.sets.base import DATA_SETS, DataSet


@DATA_SETS.register
class OAI(DataSet):
    """The Osteoarthritis Initiative's knee radiographs: its own tables, and crops or films, in a folder and below."""

    kind: Literal["oai"] = "oai"

    def listing(self, root: Path, metadata_only: bool) -> Listing:
        return oai(root, metadata_only)
