"""Images reach the device in order, one batch ahead where a thread fetches them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import Tensor

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.device import DeviceImages


@pytest.fixture
def stored(tiny_bank: Bank) -> DeviceImages:
    return DeviceImages(tiny_bank.development().select(np.arange(40)[::-1]), torch.device("cpu"))


def test_batches_are_the_banks_images_in_order(tiny_bank: Bank, stored: DeviceImages) -> None:
    positions = torch.randint(0, 40, (21,), generator=torch.Generator().manual_seed(0))
    images = tiny_bank.development().select(np.arange(40)[::-1])
    batches = list(stored.batches(positions, 8))
    assert [len(batch) for batch in batches] == [8, 8, 5]
    assert np.array_equal(torch.cat(batches).numpy(), images.images[images.rows[positions.numpy()]])
    assert len(stored) == 40


def test_one_batch_is_fetched_ahead_in_order_and_the_thread_ends(
    tiny_bank: Bank, stored: DeviceImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the hardware, which `test_cuda.py` has."""
    bank, begun = torch.from_numpy(np.array(tiny_bank.development().images)), list[threading.Event]()
    rows = torch.randint(0, len(bank), (77,), generator=torch.Generator().manual_seed(0)).split(8)
    begun += [threading.Event() for _ in rows]

    def gathered(some: Tensor) -> Tensor:
        number = next(n for n, part in enumerate(rows) if part is some)
        begun[number].set()
        if number == 7:
            raise OSError("the disk is gone")
        return bank.index_select(0, some)

    monkeypatch.setattr(stored, "_gathered", gathered)
    threads, batches = threading.active_count(), stored._fetched_ahead(rows)
    for number in range(7):
        assert torch.equal(next(batches), bank[rows[number]])
        assert begun[number + 1].wait(timeout=60), "the next one is fetched meanwhile"
        assert not begun[number + 2].is_set()
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)
    assert threading.active_count() == threads
    assert [len(batch) for batch in stored._fetched_ahead(rows[:1])] == [8]
