"""Blocks of places, and the choice among settings."""

from __future__ import annotations

from probes.heads import Place, Setting, blocks, choose


def test_a_block_holds_states_of_one_condition_that_fit_the_budget() -> None:
    # Four bytes a number: 10 rows of 5 are 200 bytes, so 450 hold two states.
    found = blocks(["direct", "think"], ["layer_0", "layer_1", "final_norm"], 10, 5, 450)
    assert found == [
        [Place("direct", "layer_0"), Place("direct", "layer_1")],
        [Place("direct", "final_norm")],
        [Place("think", "layer_0"), Place("think", "layer_1")],
        [Place("think", "final_norm")],
    ]
    assert len(blocks(["direct", "think"], ["layer_0", "layer_1"], 10, 5, 1)) == 4, "a block holds one state at least"
    assert len(blocks(["direct", "think"], ["layer_0", "layer_1"], 10, 5, 10**6)) == 2


def test_the_setting_of_highest_selection_accuracy_is_chosen_then_the_lowest_loss_then_the_first() -> None:
    found = [(0.5, 1.0), (0.7, 2.0), (0.7, 1.5), (0.7, 1.5), (0.6, 0.1)]
    assert choose([Setting(str(at), accuracy, loss, 0.0) for at, (accuracy, loss) in enumerate(found)]) == 2
