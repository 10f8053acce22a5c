"""A damaged checkpoint is set aside and warned of, and the training begins anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fmim_core.data.bank.bank import Bank
from fmim_core.trial.checkpoint import checkpoint_path
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.comparison import comparable
from tests.support.mini_study import first_search_trials, mini_plan


def flipped(content: bytes) -> bytes:
    """One bit of it another one, among the weights."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: bytes(len(content)), flipped])
def test_a_trial_with_a_damaged_checkpoint_begins_anew(
    tiny_bank: Bank, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    spec = first_search_trials(mini_plan(), tiny_bank)[0]
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "damaged", "cpu", checkpoint_every_s=0)
    Trial(spec, settings).step()
    path = checkpoint_path(settings.out, spec.id)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    record = Trial(spec, settings).run()
    (aside,) = path.parent.glob(f"{path.name}.damaged-*")
    assert aside.read_bytes() == damaged
    (warning,) = [text for text in record.warnings if "damaged" in text]
    problem = f"{path} is damaged: its SHA-256 is not the one that it ends with"
    assert warning == f"{problem}: moved to {aside.name}, and the training begun anew"
    others = tuple(text for text in record.warnings if text != warning)
    assert comparable(record.changed({"warnings": others})) == comparable(whole)
