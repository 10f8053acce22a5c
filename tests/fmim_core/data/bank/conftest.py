"""A bank that tests of building compare theirs with."""

from __future__ import annotations

import pytest

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from tests.support.pictures import SIZE, Pictures


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """The bank of all pictures, built at one go."""
    return build_bank(Pictures(), SIZE, tmp_path_factory.mktemp("whole"))
