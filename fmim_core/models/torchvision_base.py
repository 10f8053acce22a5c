"""What torchvision's backbones share: where its ImageNet weights are."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import torch

from fmim_core.models.pretrained import PretrainedBackbone


class TorchvisionBackbone(PretrainedBackbone):
    """A network of torchvision, which publishes `imagenet` weights for most."""

    @property
    def imagenet(self) -> Any:
        """torchvision's weights (a member of a `WeightsEnum`), or None where it has none."""
        return None

    @property
    def published(self) -> tuple[str, ...]:
        return () if self.imagenet is None else ("imagenet",)

    def published_file(self) -> Path:
        url = self.imagenet.url
        file = Path(torch.hub.get_dir()) / "checkpoints" / Path(urlparse(url).path).name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(url, str(file), progress=False)
        return file

    def published_sha256(self, file: Path) -> str:
        """Its first eight digits, with which torch's names end: resnet18-f37072fd.pth."""
        return file.stem.rpartition("-")[2]
