"""The table of adapters by hand: pairs within a condition, and the sentence."""

from __future__ import annotations

from probes.lm_head_sheet import OWN_HEAD, lora_rows, lora_sheet, sentence
from tests.store.examples import record
from thinkgap.metrics import mcnemar_p
from thinkgap.readouts.sheet import sheet_dicts, sheet_markdown
from thinkgap.types import Record

GOLD = (1, 1, 0, 2)
PREDICTED = {
    ("direct", "native"): (1, 1, 0, 2),
    ("direct", "lm_head_lora:direct"): (1, 1, 0, 0),
    ("direct", "lm_head_lora:think"): (1, 1, 0, 2),
    ("think", "native"): (0, 0, 0, 0),
    ("think", "lm_head_lora:direct"): (0, 0, 0, 2),
    ("think", "lm_head_lora:think"): (1, 1, 1, 2),
}


def rows() -> list[Record]:
    return [
        record(f"q{i}", condition, readout=readout, gold_slot=gold, pred_slot=slot, label_mass=0.25 * (i + 1))
        for (condition, readout), slots in PREDICTED.items()
        for i, (gold, slot) in enumerate(zip(GOLD, slots, strict=True))
    ]


def test_every_adapter_under_every_condition() -> None:
    sheet = lora_sheet(rows(), ["direct", "think"], ["direct", "think"], "title", ("first",))
    found = {(row["read_under"], row["trained_on"]): row for row in sheet_dicts(sheet)}
    # Right of 4: own head 4 and 1 (only q2 has its answer first); adapters 3, 4 and 2 (q2, q3), 3 (q0, q1, q3).
    assert {key: row["accuracy"] for key, row in found.items()} == {
        ("direct", OWN_HEAD): 1.0,
        ("direct", "direct"): 0.75,
        ("direct", "think"): 1.0,
        ("think", OWN_HEAD): 0.25,
        ("think", "direct"): 0.5,
        ("think", "think"): 0.75,
    }
    think = found["think", "think"]
    # Against the own head under think: q0, q1 and q3 become right, q2 becomes wrong: (3 - 1) / 4.
    assert (think["difference"], think["b"], think["c"]) == (0.5, 1, 3)
    assert think["mcnemar_p"] == mcnemar_p(1, 3) == 2 * (1 + 4) / 2**4
    assert think["difference_n"] == 4
    # First slot: none of 1, 1, 1, 2; gold first: q2 alone; mass: (0.25 + 0.5 + 0.75 + 1) / 4.
    assert (think["first_slot"], think["gold_first"], think["label_mass"]) == (0.0, 0.25, 0.625)
    own = found["think", OWN_HEAD]
    assert (own["difference"], own["mcnemar_p"], own["first_slot"]) == (None, None, 1.0)
    # Under direct the adapter trained there loses q3.
    assert (found["direct", "direct"]["difference"], found["direct", "direct"]["b"]) == (-0.25, 1)
    assert sheet.notes[0] == "first"
    assert "+50.0" in sheet_markdown(sheet)


def test_rows_of_one_condition_are_never_paired_with_another() -> None:
    found = lora_rows(rows(), ["think"])
    assert list(found) == ["think"]
    assert {row.n for row in found["think"]} == {4}


def test_the_sentence_tells_each_condition_before_and_after_its_own_adapter() -> None:
    both = sentence(rows(), ["direct", "think"], ["direct", "think"])
    assert "takes direct from 100.0% to 75.0% right and think from 25.0% to 75.0% right; " in both
    assert both.endswith("not what the model would have said.")
    assert "direct" not in sentence(rows(), ["direct", "think"], ["think"])
    assert sentence(rows(), ["direct", "think"], ["other"]) == ""
