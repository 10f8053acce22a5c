"""A value is the same however it is written, a word is never a truth value, and a misspelt key is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fmim.declare import Arm
from fmim.plan import Plan
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.manifest import manifest
from fmim_spaces.domain import Choice, Space
from tests.support.mini_study import MINI, MINI_STUDY


def arm(*settings: tuple[str, Any], values: tuple[Any, ...] = (0.25, 0.5)) -> Arm:
    """A triplet arm with more settings, which searches ε."""
    method = (("loss.kind", "triplet"), ("margins.kind", "fixed"))
    space = Space(choices=(Choice(path="margins.epsilon", values=values),))
    return Arm(name="triplet_grid", search="Grid search", settings=(*method, *settings), space=space)


@pytest.mark.parametrize("written", [1e-3, "1e-3", "0.001", "1.0e-3", "1E-3", " .001 ", "+0.001"])
def test_a_setting_is_the_same_however_it_is_written(written: Any) -> None:
    made = arm(("learning_rate", written))
    assert made == arm(("learning_rate", 0.001))
    assert made.train_config(MINI, {"epsilon": 0.25}).learning_rate == 0.001


@pytest.mark.parametrize("values", [(0.25, 0.5), ("0.25", "5e-1"), (" 2.5e-1", 0.5), ("+.25", "0.50")])
def test_a_space_is_the_same_however_it_is_written(values: tuple[Any, ...]) -> None:
    made, meant = arm(values=values), arm(values=(0.25, 0.5))
    assert made == meant
    assert made.entry(replicates=5) == meant.entry(replicates=5)
    plans = [Plan(MINI_STUDY.model_copy(update={"arms": (a,)}), MINI, 0, 1) for a in (made, meant)]
    assert plans[0].train_configs() == plans[1].train_configs()


@pytest.mark.parametrize("values", [("1e-1", 0.1), (0.1, "0.10"), (1, "1.0"), ("2", 2.0)])
def test_one_value_written_twice_is_not_two_configurations(values: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="are repeated"):
        arm(values=values)


def test_whole_numbers_stay_whole() -> None:
    assert arm(("epochs", "3")).train_config(MINI, {"epsilon": 0.25}).epochs == 3
    assert arm(values=("123456789012345678901",)).space.choices[0].values == (123456789012345678901,)


@pytest.mark.parametrize("word", ["no", "off", "yes", "on", "true", "0x1", "1,5"])
def test_words_stay_words(word: str) -> None:
    assert arm(values=(word,)).space.choices[0].values == (word,)
    with pytest.raises(ValueError, match=r"keep: .*'last', 'best' or 'best_all_pairs'"):
        arm(("keep", word)).train_config(MINI, {"epsilon": 0.25})
    with pytest.raises(ValueError, match=r"learning_rate: .*valid number"):
        arm(("learning_rate", word)).train_config(MINI, {"epsilon": 0.25})


@pytest.mark.parametrize("truth", [True, False])
def test_truth_values_are_words_and_no_numbers(truth: bool) -> None:
    """They would pass for 1 and 0: one epoch, a weight decay of nothing."""
    word, at = str(truth).lower(), {"epsilon": 0.25}
    for made, refused in ((arm(("epochs", truth)), at), (arm(("keep", truth)), at), (arm(), {"epsilon": word})):
        with pytest.raises(ValueError, match=rf"(epochs|keep|margins.epsilon): .*given '{word}'"):
            made.train_config(MINI, refused)
    assert arm(values=(truth, 0.5)).space.choices[0].values == (word, 0.5)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        (("marign", 0.2), "unknown field 'marign'"),
        (("margins.marign", 0.2), "unknown field 'marign'"),
        (("loss.lamda", 0.2), "unknown field 'lamda'"),
        (("augmentation.crpo", 24), "unknown field 'crpo'; .*Did you mean 'crop'"),
        (("loss.kind", "tripelt"), "tripelt"),
    ],
)
def test_a_misspelt_key_is_named(setting: tuple[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        arm(setting).train_config(MINI, {"epsilon": 0.25})


@pytest.mark.parametrize("make", [Arm, Choice, Space])
def test_a_misspelt_key_of_a_declaration_is_named(make: type[Any]) -> None:
    with pytest.raises(ValueError, match=f"unknown field 'setings'; {make.__name__} has "):
        make(setings=())


def test_months_are_the_same_however_they_are_written(tmp_path: Path) -> None:
    """The banks are equal to the last bit, and so is every trial: its fingerprint covers the bank's content."""
    for n in range(8):
        Image.fromarray(np.full((8, 8), 20 * n + 5, np.uint8)).save(tmp_path / f"{n}.png")
    banks = []
    for number, (zero, year) in enumerate([("0", "12"), ("0.0", "12.0"), ("-0", "1.2e1"), ("0e5", "+012.00")]):
        rows = [f"{n}.png,s{n // 2},{year if n % 2 else zero},{'test' if n < 4 else 'train'}" for n in range(8)]
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["image,subject,months,split", *rows]))
        banks.append(build_bank(FileSource(manifest(path)), 8, tmp_path / "banks"))
    assert len({bank.fingerprint for bank in banks}) == 1
    assert [bank.development().months.tolist() for bank in banks] == [[0.0, 12.0, 0.0, 12.0]] * 4
