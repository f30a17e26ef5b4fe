"""The kept inputs of each fuzz target, which once failed or reach most code, are replayed without atheris."""

from __future__ import annotations

import importlib

import pytest

from fuzz.driver import CORPUS, kept

TARGETS = ("extraction", "importers", "latex", "normalisation", "overrides", "rows")


def test_every_target_has_kept_inputs() -> None:
    assert sorted(folder.name for folder in CORPUS.iterdir()) == sorted(TARGETS)
    assert all(sum(len(data) for _, data in kept(target)) < 100_000 for target in TARGETS), "a corpus stays small"


@pytest.mark.parametrize("target", TARGETS)
def test_kept_inputs_pass(target: str) -> None:
    check = importlib.import_module(f"fuzz.{target}").check
    replayed = 0
    for name, data in kept(target):
        try:
            check(data)
        except Exception as error:
            raise AssertionError(f"fuzz/corpus/{target}/{name}") from error
        replayed += 1
    assert replayed > 5
