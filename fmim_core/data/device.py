"""A set's images as a torch tensor, where training can take batches of them quickly."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from fmim_core.data.bank import ImageSet


class DeviceImages:
    """The images of a set as a tensor `(N, H, W)` of uint8: on a GPU where they fit, else left in the shared file."""

    def __init__(self, images: ImageSet, device: torch.device) -> None:
        with warnings.catch_warnings():  # torch warns that the bank is read-only: nothing here writes to it
            warnings.simplefilter("ignore", UserWarning)
            self._bank = torch.from_numpy(images.images)
        self._rows = torch.from_numpy(images.rows)
        self._device = device
        if device.type == "cuda" and self._bytes() < 0.4 * torch.cuda.mem_get_info(device)[0]:
            self._bank = self._bank[self._rows].to(device)
            self._rows = torch.arange(len(self._rows), device=device)

    def _bytes(self) -> int:
        return len(self._rows) * self._bank[0].numel()

    @property
    def rows_device(self) -> torch.device:
        """Where positions have to be: with the images."""
        return self._rows.device

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, positions: Tensor | slice) -> Tensor:
        """uint8 images `(B, H, W)` at those positions, on the device."""
        if self._bank.device == self._device:
            return self._bank[self._rows[positions]]
        return self._bank[self._rows[positions]].pin_memory().to(self._device, non_blocking=True)
