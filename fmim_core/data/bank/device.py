"""A set's images as batches on the device that computes, from wherever they fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from fmim_core.data.image_set import ImageSet

RESIDENT_SHARE = 0.4
"""The share of a GPU's free memory: a set that needs less is kept there as a whole."""
UPLOAD_BATCH = 512
"""Images in a batch of the upload."""


class DeviceImages:
    """The images of a set, uint8 `(n, H, W)` or `(n, H, W, 3)`, read batch by batch.

    On a CPU they come from the bank's memory-mapped file, which all processes share. On a GPU a set that fits lies
    there as a whole; of one that does not, the next batch is fetched while the last one is worked on.

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
        needed = len(self._rows) * self._bank[0].numel()
        if device.type == "cuda" and resident and needed < RESIDENT_SHARE * torch.cuda.mem_get_info(device)[0]:
            self._whole = self._uploaded()

    def _uploaded(self) -> Tensor:
        whole = torch.empty((len(self), *self._bank.shape[1:]), dtype=torch.uint8, device=self._device)
        parts = self.batches(torch.arange(len(self)), UPLOAD_BATCH)
        for place, part in zip(whole.split(UPLOAD_BATCH), parts, strict=True):
            place.copy_(part)
        return whole

    def __len__(self) -> int:
        return len(self._rows)

    def batches(self, positions: Tensor, size: int) -> Iterator[Tensor]:
        """Return the images at positions `(N,)` (on the CPU), uint8, `size` at a time, on the device."""
        if self._whole is not None:
            whole = self._whole
            return (whole.index_select(0, some) for some in positions.to(self._device).split(size))
        rows = self._rows[positions].split(size)
        if self._device.type == "cuda":
            return self._fetched_ahead(rows)
        return (self._bank.index_select(0, some).to(self._device) for some in rows)

    def _fetched_ahead(self, rows: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield the images of those rows, batch by batch, while a thread gathers the next batch in pinned memory."""
        with ThreadPoolExecutor(1, thread_name_prefix="fmim-images") as thread:
            gathered = thread.submit(self._gathered, rows[0])
            for following in (*rows[1:], None):
                images = gathered.result().to(self._device, non_blocking=True)
                if following is not None:
                    gathered = thread.submit(self._gathered, following)
                yield images

    def _gathered(self, rows: Tensor) -> Tensor:
        return self._bank.index_select(0, rows).pin_memory()
