"""A set's images as batches on the device that computes, from wherever they fit."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from fmim_core.data.image_set import ImageSet

T = TypeVar("T")
RESIDENT_SHARE = 0.4
"""Of a GPU's free memory: a set that needs less lies there as a whole."""
BATCHES_AHEAD = 2
"""Batches under way at most, where a set does not lie on the GPU: one that is used, one that is fetched."""
UPLOAD_BATCH = 512
"""Images in a batch of the upload."""


class DeviceImages:
    """The images of a set, uint8 `(n, H, W)`, read batch by batch.

    On a CPU they come from the bank's memory-mapped file, which all processes share. On a GPU a set that fits lies
    there as a whole; of one that does not, the next batch is fetched while the last one is worked on (`Streamed`).

    Args:
        resident: whether the set may lie on the GPU as a whole: worth it for one that is read again and again.
    """

    def __init__(self, images: ImageSet, device: torch.device, resident: bool = True) -> None:
        with warnings.catch_warnings():  # torch warns that the bank is read-only: nothing here writes to it
            warnings.simplefilter("ignore", UserWarning)
            self._bank = torch.from_numpy(images.images)
        self._rows = torch.from_numpy(images.rows)
        self._device = device
        self._whole: Tensor | None = None
        if device.type == "cuda" and resident and self._fits():
            self._whole = self._uploaded()

    def _fits(self) -> bool:
        needed = len(self._rows) * self._bank[0].numel()
        return needed < RESIDENT_SHARE * torch.cuda.mem_get_info(self._device)[0]

    def _uploaded(self) -> Tensor:
        whole = torch.empty((len(self), *self._bank.shape[1:]), dtype=torch.uint8, device=self._device)
        parts = self.batches(torch.arange(len(self)), UPLOAD_BATCH)
        for place, part in zip(whole.split(UPLOAD_BATCH), parts, strict=True):
            place.copy_(part)
        return whole

    def __len__(self) -> int:
        return len(self._rows)

    def batches(self, positions: Tensor, size: int) -> Iterator[Tensor]:
        """Return the images at positions `(N,)` (on the CPU), `size` at a time, uint8 `(size, H, W)` on the device.

        A batch is good until the next one is asked for.
        """
        if self._whole is not None:
            whole = self._whole
            return (whole.index_select(0, some) for some in positions.to(self._device).split(size))
        rows = self._rows[positions].split(size)
        if self._device.type == "cuda":
            return Streamed(self._bank, size, self._device).batches(rows)
        return (self._bank.index_select(0, some).to(self._device) for some in rows)


class Streamed:
    """Batches of a bank in the host's memory, copied to a GPU while the batch before is worked on.

    A thread gathers a batch into pinned memory, from which a stream of its own copies it, so that neither the host nor
    the device waits for the other; only a batch that is asked for before it is there is waited for.
    """

    def __init__(self, bank: Tensor, size: int, device: torch.device) -> None:
        self._bank, self._device = bank, device
        self._stream = torch.cuda.Stream(device)
        shape = (size, *bank.shape[1:])
        pinned = device.type == "cuda"
        self._pinned = [torch.empty(shape, dtype=torch.uint8, pin_memory=pinned) for _ in range(BATCHES_AHEAD)]
        self._there = [torch.empty(shape, dtype=torch.uint8, device=device) for _ in range(BATCHES_AHEAD)]
        self._copied = [torch.cuda.Event(blocking=True) for _ in range(BATCHES_AHEAD)]
        self._used = [torch.cuda.Event() for _ in range(BATCHES_AHEAD)]

    def batches(self, rows: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield the images of those rows of the bank, batch by batch."""
        self._stream.wait_stream(torch.cuda.current_stream(self._device))  # the memory may still be in use there
        try:
            for number, images in enumerate(fetched_ahead(lambda number: self._fetch(number, rows[number]), len(rows))):
                worker = torch.cuda.current_stream(self._device)
                worker.wait_event(self._copied[number % BATCHES_AHEAD])
                yield images
                self._used[number % BATCHES_AHEAD].record(torch.cuda.current_stream(self._device))
        finally:
            torch.cuda.current_stream(self._device).wait_stream(self._stream)

    def _fetch(self, number: int, rows: Tensor) -> Tensor:
        """Gather and send a batch; runs in the thread."""
        slot = number % BATCHES_AHEAD
        self._copied[slot].synchronize()  # what was gathered there before has left
        pinned = torch.index_select(self._bank, 0, rows, out=self._pinned[slot][: len(rows)])
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(self._used[slot])
            there = self._there[slot][: len(rows)].copy_(pinned, non_blocking=True)
            self._copied[slot].record(self._stream)
        return there


def fetched_ahead(fetch: Callable[[int], T], count: int) -> Iterator[T]:
    """Yield `fetch(0)` to `fetch(count - 1)`, in order, by a thread at most `BATCHES_AHEAD` of what is used up.

    A result is used up when the next one is asked for; fetch(n + BATCHES_AHEAD) starts after that of n. What `fetch`
    raises is raised here, in its turn.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="fmim-images") as thread:
        under_way: deque[Future[T]] = deque(thread.submit(fetch, number) for number in range(min(BATCHES_AHEAD, count)))
        try:
            for following in range(BATCHES_AHEAD, count + BATCHES_AHEAD):
                yield under_way.popleft().result()
                if following < count:
                    under_way.append(thread.submit(fetch, following))
        finally:
            for future in under_way:
                future.cancel()
