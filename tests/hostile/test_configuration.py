"""Configurations that somebody sent: targets, pickles, names that no file can have; and mappings."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
from hydra import compose, initialize_config_dir

from tests.conftest import ROOT
from thinkgap import schema
from thinkgap.cli import CONF, prepare_arguments
from thinkgap.cli_mappings import MAPPINGS
from thinkgap.cli_targets import check_targets
from thinkgap.errors import ConfigError


def composed(*arguments: str) -> schema.ModelConfig:
    schema.register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("evaluate", prepare_arguments(list(arguments), schema.EvaluateConfig)).model


@pytest.mark.parametrize("text", ["{load_in_4bit: true}", "{quant_method:bitsandbytes,load_in_4bit:true}"])
def test_a_mapping_takes_the_place_of_null(text: str) -> None:
    found = composed("model=demo_vlm", f"model.quantization={text}").quantization
    assert found is not None
    assert found["load_in_4bit"] is True
    assert composed("model=demo_vlm", f"+model.quantization={text}").quantization == found
    assert composed("model=demo_vlm", "model.quantization=null").quantization is None


@pytest.mark.parametrize(
    "argument",
    ["model.quantization.load_in_4bit=true", "+model.quantization.bits=4", "model.quantization=quant_method:awq"],
)
def test_parts_of_a_mapping_are_refused_with_the_whole(argument: str) -> None:
    with pytest.raises(ConfigError, match=r"in quotes .*'model\.quantization=\{quant_method: bitsandbytes"):
        composed("model=demo_vlm", argument)


def test_all_settings_that_are_null_or_a_mapping_are_known() -> None:
    classes = [one for one in vars(schema).values() if dataclasses.is_dataclass(one) and isinstance(one, type)]
    found = {
        name
        for one in classes
        for name, kind in get_type_hints(one).items()
        if "Optional[typing.Dict" in str(kind) or "Optional[Dict" in str(kind)
    }
    assert found == set(MAPPINGS)


@pytest.mark.parametrize(
    "argument",
    [
        "hydra.launcher._target_=os.system",
        "+hydra.callbacks.x={_target_: os.system, command: ls}",
        "+hydra.callbacks.x={'_target_':'subprocess.run'}",
        "hydra.sweeper._target_='builtins.eval'",
        "model.name={_target_: thinkgapped.x}",
    ],
)
def test_targets_of_other_packages(argument: str) -> None:
    with pytest.raises(ConfigError, match="is not called: a target begins with one of thinkgap"):
        prepare_arguments([argument], schema.EvaluateConfig)


def test_known_targets_pass() -> None:
    check_targets(
        ["hydra.launcher._target_=hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher", "model=a"]
    )
    check_targets(["--config-dir", str(CONF)])


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("hydra:\n  callbacks:\n    x:\n      _target_: os.system\n", "hydra.callbacks.x._target_"),
        ("# @package hydra.sweeper\n_target_: os.system\n", "_target_"),
        ("hydra:\n  job_logging:\n    handlers:\n      h: {'()': os.system, command: ls}\n", "handlers.h.()"),
        ("handlers:\n- class: subprocess.Popen\n", "handlers.0.class"),
        ("hydra:\n  searchpath:\n  - file:///tmp\n", "hydra.searchpath"),
        ("a: &a\n  b: *a\nc: {_target_: os.system}\n", "c._target_"),
    ],
)
@pytest.mark.parametrize("how", ["--config-dir={0}", "-cd {0}", "hydra.searchpath=[file://{0}]"])
def test_files_from_elsewhere_are_looked_through(tmp_path: Path, content: str, place: str, how: str) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "sent.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        check_targets(how.format(tmp_path).split(" "))
    assert place in str(error.value)
    assert "sent.yaml" in str(error.value)


def test_odd_files_are_left_to_hydra(tmp_path: Path) -> None:
    for name, text in {"a": "{", "b": "!!python/object/apply:os.system [ls]", "c": "x: \x00", "d": "[" * 3000}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    check_targets(["-cd", str(tmp_path), "--config-path", str(tmp_path / "nowhere"), "hydra.searchpath=[pkg://x.y]"])


def test_a_sent_experiment_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    mark = tmp_path / "ran"
    (tmp_path / "experiment" / "sent.yaml").write_text(
        f"# @package _global_\nhydra:\n  callbacks:\n    x: {{_target_: os.system, command: touch {mark}}}\n",
        encoding="utf-8",
    )
    command = [sys.executable, "evaluate.py", "--config-dir", str(tmp_path), "+experiment=sent", "model=demo_vlm"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "'os.system' is not called" in done.stderr
    assert not mark.exists()


def test_a_pickled_job_is_not_run_again() -> None:
    with pytest.raises(ConfigError, match="reads a pickle"):
        prepare_arguments(["--experimental-rerun", "config.pickle"], schema.EvaluateConfig)


@pytest.mark.parametrize(
    "argument",
    ["model=" + "x" * 5000, "x" * 5000 + "=1", "dataset=" + "x" * 5000, "model=~nobody-of-that-name", "a\0b=1"],
)
def test_names_that_no_file_has(argument: str) -> None:
    with contextlib.suppress(ConfigError):  # that some are left to Hydra is well; another exception is not
        prepare_arguments([argument], schema.EvaluateConfig)
