"""The paper's numbers of its knee images (Suppl. Table 2), beside what a folder holds."""

from __future__ import annotations

import pandas as pd

GALLERY = 2610
QUERIES = {1: 2498, 2: 2430, 3: 2306, 4: 2252, 5: 0, 6: 1858, 7: 0, 8: 1694}
"""Years after baseline → test images."""
IMAGES, PARTICIPANTS, MEN, DISEASE = "images", "participants", "% men", "images with disease"
PARTS: dict[str, dict[str, float]] = {
    "train": {IMAGES: 37410, PARTICIPANTS: 3490, MEN: 59.1, DISEASE: 14240},
    "test": {IMAGES: 15648, PARTICIPANTS: 1306, MEN: 53.8, DISEASE: 5409},
}


def differences_from_paper(index: pd.DataFrame, ageless: int) -> list[str]:
    """Return a sentence for each number that the paper prints and that this index, as `Listing` has it, does not give.

    `ageless`: how many of its images are of visits that have no age in their clinical table.
    """
    years = (index["months"][index["split"] == "test"] / 12).value_counts()
    printed = {"gallery images": GALLERY} | {f"queries at year {year}": count for year, count in QUERIES.items()}
    here = {"gallery images": int(years.get(0, 0))} | {f"queries at year {y}": int(years.get(y, 0)) for y in QUERIES}
    sentences = [
        f"test {what}: {here[what]:,} here, {n:,} in the paper" for what, n in printed.items() if here[what] != n
    ]
    for split, paper in PARTS.items():
        sentences += _differences(split, index[index["split"] == split], paper)
    if ageless:
        what = (
            "images of visits without an age in their clinical table are used here; the paper's authors leave such out"
        )
        sentences.append(f"{ageless:,} {what}")
    return sentences


def _differences(split: str, part: pd.DataFrame, paper: dict[str, float]) -> list[str]:
    people = part.drop_duplicates("subject")
    sexes = people["sex"][people["sex"] != ""]
    men = round(100 * float((sexes == "M").mean()), 1) if len(sexes) else None
    here = {IMAGES: len(part), PARTICIPANTS: len(people), MEN: men, DISEASE: int((part["disease"] == "yes").sum())}
    sentences = [
        f"{split} {what}: {'unknown' if here[what] is None else f'{here[what]:,}'} here, {printed:,} in the paper"
        for what, printed in paper.items()
        if here[what] != printed
    ]
    if men is not None and abs(100 - men - paper[MEN]) < abs(men - paper[MEN]):
        sentences.append(f"{split} % men: what the paper prints is nearer the share of women here, {100 - men:.1f}")
    return sentences
