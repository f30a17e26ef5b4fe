"""Predictions and fits on disk: by hand, against the plain way, byte for byte in any order, and damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from probes.fits_file import Cosine, PlaceFit, best_places, depth, place_fits, read_fits, write_fits
from probes.heads import Fitted, Place
from probes.linear_probe import mask_absent
from probes.part import Part
from probes.predict import fixed_probe, predict
from probes.predictions import (
    PREDICTIONS_FILE,
    SCHEMA,
    Probed,
    predictions_of,
    read_predictions,
    write_predictions,
)
from tests.probes.parts import made_part
from tests.probes.predicted import (
    STATE,
    axis_probe,
    fitted_at,
    made_fits,
    prediction_rows,
    setting,
    shuffled,
    study,
    table_of,
)
from thinkgap.errors import DataError, StoreError

CONDITIONS, STATES = ("direct", "let_me_think"), ("layer_0", "final_norm")


def probes(noise: float = 0.3) -> dict[Place, Fitted]:
    """One at each place of `made_part`, each with other weights."""
    places = [Place(condition, state) for condition in CONDITIONS for state in STATES]
    return {
        place: fitted_at(*place, axis_probe(4, 8, noise, seed), 0.5 + 0.1 * seed) for seed, place in enumerate(places)
    }


def small_part(states: Sequence[Sequence[float]], gold: Sequence[int], k: Sequence[int]) -> Part:
    """Rows of one condition and one state, written down."""

    def read(rows: NDArray[np.int64], condition: str, names: Sequence[str], /) -> Tensor:
        return torch.tensor(states)[torch.from_numpy(rows)][:, None]

    n = len(gold)
    ids = np.array([f"q{row}" for row in range(n)])
    shown = np.array(["identity"] * n)
    native = {"direct": np.zeros(n, np.int64)}
    return Part("test", ids, shown, ids, torch.tensor(k), torch.tensor(gold), native, (STATE,), read, np.arange(n))


def test_rows_by_hand() -> None:
    # Weights are the identity, so logits are the states; absent slots count for nothing.
    # q0: logits ln 2, 0 (third absent): 2/3 for slot 0, which is right. q1: 0, ln 3, 0: 1/5 for slot 0, slot 1 is said.
    # q2 has four options and its answer in the fourth, which the probe does not have.
    part = small_part([[math.log(2), 0, 9], [0, math.log(3), 0], [0, 0, 1]], [0, 0, 3], [2, 3, 4])
    table = predict(part, {Place("direct", STATE): fitted_at("direct", STATE, axis_probe(3, 3))}, STATE, {})
    layer, read = table.to_pylist()[:3], {row["role"] for row in table.to_pylist()}
    assert read == {"layer", "study"}
    assert [row["pred_slot"] for row in layer] == [0, 1, 2]
    assert [row["correct"] for row in layer] == [True, False, False]
    expected = [math.log(2 / 3), math.log(1 / 5), -math.inf]
    assert [row["gold_logprob"] for row in layer] == pytest.approx(expected, abs=1e-6)
    assert [(row["native_slot"], row["native_correct"]) for row in layer] == [(0, True), (0, True), (0, False)]
    assert table.schema == SCHEMA
    assert len(predictions_of(table)) == 3


def test_which_probes_are_read_where(tmp_path: Path) -> None:
    part = made_part("test", 20, seed=1, n_presentations=2)
    best = {"direct": Place("direct", "layer_0"), "let_me_think": Place("let_me_think", STATE)}
    write_predictions(tmp_path, [predict(part, probes(), STATE, best)])
    found = read_predictions(tmp_path)
    assert set(found.probes) == {
        *(Probed(name, name, "layer", state) for name in CONDITIONS for state in STATES),
        *(study(name, own) for name in CONDITIONS for own in CONDITIONS),
        Probed("direct", "direct", "best", "layer_0"),
        Probed("let_me_think", "let_me_think", "best", STATE),
    }
    # Against the plain way, row by row.
    assert len(found) == 40
    rows = {(i, p): row for row, (i, p) in enumerate(zip(part.item_id, part.presentation, strict=True))}
    order = [rows[key] for key in zip(found.item_id, found.presentation, strict=True)]
    assert order != sorted(order)
    for one, slots in found.probes.items():
        probe = probes()[Place(one.trained_on, one.state)].probe
        plain = probe.slots(part.state(one.condition, one.state), part.k)
        assert slots.tolist() == plain[order].tolist()
        assert found.native[one.condition].tolist() == part.native[one.condition][order].tolist()
    assert found.gold.tolist() == part.gold[order].tolist()
    assert found.group_id.tolist() == part.group_id[order].tolist()
    stored = pq.read_table(tmp_path / PREDICTIONS_FILE)
    assert stored.to_pylist() == sorted(stored.to_pylist(), key=lambda row: list(row.values())[:6])


def test_bytes_depend_neither_on_the_order_of_rows_nor_on_the_number_of_processes(tmp_path: Path) -> None:
    part, best = made_part("test", 57, seed=2, n_presentations=2), {"direct": Place("direct", "layer_0")}
    folders = [tmp_path / name for name in ("whole", "mixed", "shared")]
    for folder in folders:
        folder.mkdir()
    fitted = probes()
    write_predictions(folders[0], [predict(part, fitted, STATE, best)])
    mixed = part.chosen(np.random.default_rng(0).permutation(len(part)))
    turned = dict(reversed([*fitted.items()]))
    write_predictions(folders[1], [shuffled(predict(mixed, turned, STATE, best), 1)])
    shares = [dict(list(fitted.items())[start::3]) for start in range(3)]
    write_predictions(folders[2], [predict(part, share, STATE, best) for share in reversed(shares)])
    first, *others = ((folder / PREDICTIONS_FILE).read_bytes() for folder in folders)
    assert all(other == first for other in others)
    assert [file.name for file in folders[0].iterdir()] == [PREDICTIONS_FILE]


def test_states_are_read_one_place_at_a_time() -> None:
    part = made_part("test", 5, seed=3)
    asked = []

    def read(rows: NDArray[np.int64], condition: str, names: Sequence[str], /) -> Tensor:
        asked.append((condition, *names))
        return part.reader(rows, condition, names)

    predict(replace(part, reader=read), probes(), STATE, {})
    assert asked == [(condition, state) for condition in CONDITIONS for state in STATES]
    asked.clear()
    # A probe of one condition at the study's state is read under every condition, other places are not opened.
    predict(replace(part, reader=read), {Place("direct", STATE): probes()[Place("direct", STATE)]}, STATE, {})
    assert asked == [("direct", STATE), ("let_me_think", STATE)]


def test_a_probe_without_test_states_is_refused() -> None:
    fitted = {Place("direct", "layer_7"): fitted_at("direct", "layer_7", axis_probe(4, 8))}
    with pytest.raises(DataError, match=r"condition direct at layer_7 has no test states.*probe.states"):
        predict(made_part("test", 5, seed=3), fitted, STATE, {})


def test_fixed_rows_are_a_product_and_nothing_else() -> None:
    part = made_part("test", 30, seed=4, n_options=(2, 3), d=6)
    generator = torch.Generator().manual_seed(0)
    rows, bias = torch.randn(3, 6, generator=generator), torch.randn(3, generator=generator)
    for given in (bias, None):
        found = predictions_of(fixed_probe(part, STATE, rows, given, "direct"))
        assert set(found.probes) == {Probed(name, "direct", "unembedding", STATE) for name in CONDITIONS}
        order = np.argsort(part.item_id)
        for one, slots in found.probes.items():
            plain = part.state(one.condition, STATE) @ rows.T + (0 if given is None else given)
            assert slots.tolist() == mask_absent(plain, part.k).argmax(-1)[order].tolist()


def rows() -> list[dict[str, Any]]:
    """Two items under two conditions, each read by the study's probe of either."""
    native = {"direct": [1, 0], "think": [0, 0]}
    return prediction_rows(
        [1, 0],
        native,
        {study(name, own): [1, 1] for name in native for own in native},
        k=3,
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"item_id": "q1"},
            "item 'q1' (identity) of the study probe of direct at final_norm under direct is there twi",
        ),
        ({"item_id": "q7"}, "is not there for every probe"),
        ({"presentation": "permutation_1"}, "is not there for every probe"),
        ({"group_id": "other"}, "has another group_id than elsewhere"),
        ({"k": 4}, "has another k than elsewhere"),
        ({"gold_slot": 2, "correct": False, "native_correct": False}, "has another gold_slot than elsewhere"),
        ({"native_slot": 2, "native_correct": False}, "has another native_slot than elsewhere under that condition"),
        ({"pred_slot": 3, "correct": False}, "has a pred_slot that the item lacks"),
        ({"pred_slot": -1, "correct": False}, "has a pred_slot that the item lacks"),
        ({"correct": False}, "is called right or wrong against its slots"),
        ({"native_correct": False}, "has a native_correct against its slots"),
        ({"gold_logprob": 0.5}, "has a gold_logprob that is no log probability"),
        ({"gold_logprob": math.nan}, "has a gold_logprob that is no log probability"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    predictions_of(table_of(rows()))
    broken = rows()
    broken[0] |= changes
    with pytest.raises(StoreError) as caught:
        write_predictions(tmp_path, [table_of(broken)])
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_missing_rows_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no rows; no probe was tested"):
        write_predictions(tmp_path, [SCHEMA.empty_table()])
    with pytest.raises(StoreError, match="2 rows of the study probe of direct.*but 1 of the study probe of think at"):
        write_predictions(tmp_path, [table_of(rows()[:-1])])
    with pytest.raises(StoreError, match="does not exist: give the folder of a finished run of probe=linear"):
        read_predictions(tmp_path)
    path = write_predictions(tmp_path, [table_of(rows())])
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(StoreError, match="is damaged"):
        read_predictions(tmp_path)
    pq.write_table(pa.table({"item_id": ["a"]}), path)
    with pytest.raises(StoreError, match="another version of thinkgap"):
        read_predictions(tmp_path)


def test_the_best_place_is_chosen_on_the_selection_split_alone() -> None:
    def chosen(*found: tuple[str, float, float]) -> str:
        fitted = {Place("direct", state): fitted_at("direct", state, axis_probe(2, 2), *how) for state, *how in found}
        best = best_places(fitted, ["direct", "think"])
        assert best == best_places(dict(reversed([*fitted.items()])), ["direct"])
        assert best == best_places(place_fits(fitted), ["direct"])
        assert set(best) == {"direct"}
        return best["direct"].state

    assert chosen(("layer_0", 0.9, 2.0), ("final_norm", 0.8, 0.1)) == "layer_0"
    assert chosen(("layer_0", 0.9, 0.1), ("final_norm", 0.9, 0.2)) == "layer_0"
    assert chosen(("layer_9", 0.9, 0.1), ("layer_10", 0.9, 0.1), ("embeddings", 0.9, 0.1)) == "layer_10"
    assert chosen(("layer_9", 0.9, math.nan), ("embeddings", 0.9, 5.0)) == "embeddings"
    assert sorted(["final_norm", "layer_10", "embeddings", "layer_2"], key=depth) == [
        "embeddings",
        "layer_2",
        "layer_10",
        "final_norm",
    ]


def test_fits_come_back_as_they_were(tmp_path: Path) -> None:
    place = Place("direct", "layer_0")
    settings = (
        setting(0.5, math.inf, epoch=3),
        setting(0.75, 0.25, gradient=1e-5, iterations=12),
        setting(0.25, math.nan),
    )
    fits = made_fits(["direct", "think"], {("think", "layer_0"): 0.25, ("direct", "layer_0"): 0.5}, title="é", seed=7)
    fits = replace(fits, places={**fits.places, place: PlaceFit(place, 1, settings)}, best={"direct": place})
    fits = replace(fits, cosines=(Cosine("direct", "think", -0.5), Cosine("unembedding", "direct", 1 / 3)))
    path = write_fits(tmp_path, fits)
    first = path.read_bytes()
    found = read_fits(tmp_path)
    assert found.places[place].setting == settings[1]
    assert math.isnan(found.places[place].settings[2].select_loss)
    comparable = PlaceFit(place, 1, settings[:2])
    assert replace(found, places={**found.places, place: comparable}) == replace(
        fits, places={**fits.places, place: comparable}
    )
    assert found.trained == ["direct", "think"]
    assert [(one["condition"], one["chosen"]) for one in json.loads(first)["places"]] == [("direct", 1), ("think", 0)]
    # In any order of places and cosines.
    write_fits(
        tmp_path, replace(fits, places=dict(reversed([*fits.places.items()])), cosines=tuple(reversed(fits.cosines)))
    )
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "does not hold what this version of thinkgap writes"),
        ("{}", "KeyError: 'places'"),
    ],
)
def test_fits_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        read_fits(tmp_path)
    (tmp_path / "fits.json").write_text(text)
    with pytest.raises(StoreError, match=message):
        read_fits(tmp_path)


def test_a_chosen_setting_that_is_not_there(tmp_path: Path) -> None:
    path = write_fits(tmp_path, made_fits(["direct"]))
    path.write_text(path.read_text().replace('"chosen": 0', '"chosen": 4'))
    with pytest.raises(StoreError, match="IndexError"):
        read_fits(tmp_path)
