"""How many trials fit, and requests that nothing can meet."""

from __future__ import annotations

import pytest
import torch

from fmim.runner.backends.backend import Inline, allot
from fmim_core.machine import cores


@pytest.mark.parametrize(
    ("node", "cpus", "gpus", "slots"),
    [
        ({"CPU": 2.0}, 1.0, 0.0, 2),
        ({"CPU": 64.0, "GPU": 8.0}, 1.0, 0.15, 48),  # six on each card, not 53 in all
        ({"CPU": 64.0, "GPU": 8.0}, 1.0, 0.1, 64),  # ten on each card would fit, the cores do not
        ({"CPU": 64.0, "GPU": 8.0}, 1.0, 3.0, 2),
        ({"CPU": 3.0}, 0.1, 0.0, 30),
    ],
)
def test_slots_count_what_really_fits_on_a_node(node: dict[str, float], cpus: float, gpus: float, slots: int) -> None:
    assert allot(cpus, gpus, [node]) == (slots, cpus, gpus)
    assert allot(cpus, gpus, [node, {"memory": 1.0}, node])[0] == 2 * slots


def test_without_a_word_of_gpus_each_trial_has_one_where_there_are_any() -> None:
    assert allot(1.0, None, [{"CPU": 4.0, "GPU": 2.0}]) == (2, 1.0, 1.0)
    assert allot(1.0, None, [{"CPU": 4.0}]) == (4, 1.0, 0.0)


@pytest.mark.parametrize(("cpus", "gpus"), [(4.0, 0.0), (1.0, 0.5)])
def test_what_no_node_has_is_refused_with_both_numbers(cpus: float, gpus: float) -> None:
    words = rf"asks for {cpus:g} CPU and {gpus:g} GPU .* but 2 node\(s\) have 4 CPU and 0 GPU: ask for less"
    with pytest.raises(ValueError, match=words):
        allot(cpus, gpus, [{"CPU": 2.0}, {"CPU": 2.0}])


def test_more_cpus_than_this_process_may_use_are_refused_inline_in_the_same_words() -> None:
    there = f"{cores()} CPU and {torch.cuda.device_count()} GPU"
    words = rf"asks for 10000 CPU and 0 GPU .* but 1 node\(s\) have {there}: ask for less"
    with pytest.raises(ValueError, match=words):
        Inline.of(10000.0, 0.0)
