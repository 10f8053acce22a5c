"""Images reach the device in order, at most two batches ahead, whoever fetches them."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.device import BATCHES_AHEAD, DeviceImages, Streamed, fetched_ahead


def test_batches_are_the_banks_images_in_order(tiny_bank: Bank) -> None:
    images = tiny_bank.development().select(np.arange(40)[::-1])
    positions = torch.randint(0, 40, (21,), generator=torch.Generator().manual_seed(0))
    stored = DeviceImages(images, torch.device("cpu"))
    batches = list(stored.batches(positions, 8))
    assert [len(batch) for batch in batches] == [8, 8, 5]
    assert np.array_equal(torch.cat(batches).numpy(), images.images[images.rows[positions.numpy()]])
    assert len(stored) == 40


class Immediate:
    """A CUDA stream and event of a device that has done everything at once."""

    def __init__(self, *_: object, **__: object) -> None:
        self.wait_stream = self.wait_event = self.record = self.synchronize = lambda *_: None


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad])
def test_streamed_batches_are_the_banks_images_and_stay_until_the_next_is_asked_for(
    tiny_bank: Bank, monkeypatch: pytest.MonkeyPatch, mode: type
) -> None:
    """All but the hardware, which `test_cuda.py` has: threads, memory in turn, the last and smaller batch."""
    for name in ("Stream", "Event", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, Immediate)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    images = torch.from_numpy(np.array(tiny_bank.development().images))
    rows = torch.randint(0, len(images), (77,), generator=torch.Generator().manual_seed(0)).split(8)
    with mode():
        streamed = Streamed(images, 8, torch.device("cpu"))
        fetch, fetched = streamed._fetch, [threading.Event() for _ in rows]
        streamed._fetch = lambda number, some: (fetch(number, some), fetched[number].set())[0]
        for number, batch in enumerate(streamed.batches(rows)):
            assert fetched[min(number + 1, len(rows) - 1)].wait(timeout=60)  # the next one is there too
            assert torch.equal(batch, images[rows[number]])
    assert len({place.data_ptr() for place in streamed._there}) == BATCHES_AHEAD


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_what_is_fetched_ahead_comes_in_order_and_never_by_more_than_two(count: int) -> None:
    used, overtaken = 0, []

    def fetch(number: int) -> int:
        overtaken.append(number - used)  # `used` is how many were used up when this one began
        return number**2

    results = fetched_ahead(fetch, count)
    for expected in range(count):
        assert next(results) == expected**2
        used = expected  # the one in hand is used up when the next is asked for
    assert list(results) == []
    assert len(overtaken) == count
    assert all(lead <= BATCHES_AHEAD for lead in overtaken)
