"""Columns of the report page: every form there and back, missing values, bytes of layers, escaped JSON."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.report.encode import LENS_DEEPEST, columns, escaped, lens_bytes, lens_logprobs

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def array(text: str, kind: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def one(name: str, values: list[Any]) -> dict[str, Any]:
    return columns(pd.DataFrame({name: pd.Series(values, dtype=object)}))[name]


def test_texts_are_numbered_from_one() -> None:
    found = one("condition", ["b", None, "a", "b", math.nan])
    assert found["d"] == ["b", "a"]
    assert array(found["c"], np.uint8).tolist() == [1, 0, 2, 1, 0]


def test_more_texts_than_a_byte_can_number() -> None:
    found = one("item", [f"q{number}" for number in range(300)])
    assert found["w"] == 2
    assert array(found["c"], np.uint16).tolist() == list(range(1, 301))


@pytest.mark.parametrize(
    ("values", "width", "low", "data"),
    [([3, None, 5], 1, 3, [1, 0, 3]), ([-2, 298], 2, -2, [1, 301]), ([7.0, math.nan], 1, 7, [1, 0])],
)
def test_integers_count_from_the_lowest(values: list[Any], width: int, low: int, data: list[int]) -> None:
    found = one("k", values)
    assert (found["w"], found["low"]) == (width, low)
    assert array(found["v"], UNSIGNED[width]).tolist() == data


def test_flags_and_floats_know_missing_values() -> None:
    assert array(one("correct", [True, False, None, np.True_])["v"], np.uint8).tolist() == [1, 0, 2, 1]
    found = array(one("p_gold", [0.5, None, -math.inf])["v"], "<f4")
    assert found[0] == 0.5
    assert math.isnan(found[1])
    assert found[2] == -math.inf


def test_lists_keep_their_lengths() -> None:
    found = one("scores", [[-1.5, -2.0], None, [-math.inf]])
    assert array(found["n"], np.uint8).tolist() == [2, 0, 1]
    assert array(found["v"], "<f4").tolist() == [-1.5, -2.0, -math.inf]
    found = one("top_tokens", [["a", "b"], ["a"]])
    assert found["d"] == ["a", "b"]
    assert array(found["c"], np.uint8).tolist() == [1, 2, 1]
    found = one("order", [[1, 0], None, [1, 0]])
    assert found["d"] == [[1, 0]]
    assert array(found["c"], np.uint8).tolist() == [1, 0, 1]


def test_columns_without_any_value_are_left_out() -> None:
    frame = pd.DataFrame({"item": ["a"], "p_gold": [math.nan], "correct": [None], "k": [None], "lens": [None]})
    assert list(columns(frame)) == ["item"]


def test_layers_in_one_byte_each() -> None:
    logprobs = np.array([0.0, -0.01, -0.7, -5.0, -30.0, -63.0, -200.0, -math.inf, math.nan])
    data = lens_bytes(logprobs)
    assert data.dtype == np.uint8
    back = lens_logprobs(data)
    assert back[0] == 0
    assert back[1:6] == pytest.approx(logprobs[1:6], abs=0.26)
    assert back[1:3] == pytest.approx(logprobs[1:3], abs=0.04)
    assert back[6] == back[7] == -LENS_DEEPEST
    assert math.isnan(back[8])
    # 64 * (127 / 254)**2 = 16 exactly.
    assert lens_bytes(np.array([-16.0])).tolist() == [127]
    assert lens_logprobs(np.array([127], np.uint8)).tolist() == [-16.0]


HOSTILE = ["</script>", "<!--", "]]>", "&lt;", "\u2028\u2029", "\ud800", "\u202e", "{{data}}", "\x00"]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_may_stand_in_the_page(text: str) -> None:
    found = escaped({"text": [text]})
    assert found.isascii()
    assert not set("<>&") & set(found)
    assert json.loads(found) == {"text": [text]}


def test_no_number_that_json_lacks() -> None:
    with pytest.raises(ValueError, match="JSON"):
        escaped([math.nan])
