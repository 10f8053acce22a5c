"""Small pictures in colour of things of several classes, which colour alone tells apart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 24


def thing(class_: int, number: int) -> np.ndarray:
    """A picture whose grey values are noise, and whose colours are its class's, more or less."""
    draws = np.random.default_rng((class_, number))
    hue = 2 * np.pi * class_ / 12 + np.array([0, 2, 4]) * np.pi / 3
    colour = 90 * np.cos(hue) + draws.normal(0, 12, 3)
    grey = draws.integers(0, 60, (SIDE, SIDE, 1)) + 100
    return (grey + colour).clip(0, 255).astype(np.uint8)


def save_thing(path: Path, class_: int, number: int) -> None:
    """Write such a picture as PNG, or by its ending as JPEG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(thing(class_, number)).save(path)


def coloured_table(folder: Path, classes: int = 12, images: int = 4, settings: str = "") -> Path:
    """A table of such images, every one gallery and query, the last third of the classes for the test."""
    rows = []
    for class_ in range(classes):
        for number in range(images):
            save_thing(folder / f"{class_:02d}_{number}.png", class_, number)
            split = "train" if class_ < 2 * classes // 3 else "test"
            rows.append(f"{class_:02d}_{number}.png,c{class_:02d},both,{split}")
    (folder / "things.csv").write_text("\n".join(["image,subject,role,split", *rows, ""]))
    if settings:
        (folder / "things.toml").write_text(settings)
    return folder / "things.csv"


def cub(root: Path, classes: Iterable[int] = range(99, 103)) -> None:
    """CUB-200-2011 of these classes alone, three images of each."""
    folder, images = root / "CUB_200_2011", []
    for class_ in classes:
        for number in range(3):
            name = f"{class_:03d}.Some_bird/Some_bird_{class_}_{number}.jpg"
            save_thing(folder / "images" / name, class_, number)
            images.append((name, class_))
    (folder / "images.txt").write_text("".join(f"{n} {name}\n" for n, (name, _) in enumerate(images, 1)))
    labels = "".join(f"{n} {class_}\n" for n, (_, class_) in enumerate(images, 1))
    (folder / "image_class_labels.txt").write_text(labels)


def class_folders(folder: Path, classes: int = 24) -> Path:
    """A folder of folders with four images each."""
    for class_ in range(classes):
        for number in range(4):
            save_thing(folder / f"c{class_:02d}" / f"{number}.jpg", class_, number)
    return folder
