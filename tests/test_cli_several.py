"""Several data sets, encoders or judges in one run, as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_config import composed
from thinkgap.cli import prepare_arguments
from thinkgap.errors import ConfigError
from thinkgap.schema import EvaluateConfig


def prepared(*arguments: str) -> list[str]:
    return prepare_arguments(list(arguments), EvaluateConfig)


def test_each_of_several_data_sets_has_its_own_settings_and_those_of_all(tmp_path: Path) -> None:
    (tmp_path / "boolq").mkdir()
    (tmp_path / "mmlu.jsonl").touch()
    given = prepared("dataset=boolq,mmlu", "dataset.limit=60", f"dataset.path={tmp_path}", "mode=paper")
    cfg = composed(*given, "datasets.mmlu.limit=5")
    assert list(cfg.datasets) == ["boolq", "mmlu"]
    assert [one.name for one in cfg.datasets.values()] == ["boolq", "mmlu"]
    assert [one.limit for one in cfg.datasets.values()] == [60, 5]
    assert [one.path for one in cfg.datasets.values()] == [str(tmp_path / "boolq"), str(tmp_path / "mmlu.jsonl")]
    assert cfg.datasets["mmlu"].config == "all", "what the option's own file says stays"
    assert cfg.dataset.name == "boolq"


def test_one_data_set_and_a_sweep_stay_as_they_are() -> None:
    assert prepared("dataset=boolq", "dataset.limit=3") == ["dataset=boolq", "dataset.limit=3"]
    assert prepared("-m", "dataset=boolq,mmlu") == ["-m", "dataset=boolq,mmlu"]
    assert composed("dataset=boolq").datasets == {}


def test_several_judges_and_encoders() -> None:
    cfg = composed(*prepared("judge=rules,local", "judge.batch_size=12", "encoder=minilm"), "judges.local.seed=7")
    assert list(cfg.judges) == ["rules", "local"]
    assert [(one.name, one.batch_size, one.seed) for one in cfg.judges.values()] == [("rules", 12, 0), ("local", 12, 7)]
    assert cfg.judges["local"].model.name == "smollm2", "the model that an option brings comes along"
    assert (cfg.judge.name, cfg.encoder.name, cfg.encoders) == ("rules", "minilm", {})


def test_flags_may_stand_anywhere() -> None:
    given = prepared("dataset=boolq,mmlu", "--cfg", "job")
    assert given[-2:] == ["--cfg", "job"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dataset=boolq,boolq"], "name each data set once"),
        (["dataset=boolq,mmlu", "dataset.limt=3"], "did you mean 'dataset.limit'"),
        (["dataset=boolq,mmlu", "dataset.path=nowhere"], "there is no nowhere/boolq"),
        (["dataset=boolq,mlmu"], "no such option"),
        (["judge=rules,rules"], "name each judge once"),
        (["encoder=minilm,none"], "none stands alone"),
        (["judge=rules,local", "judge.batch=3"], "judge.batch: no such"),
    ],
)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        prepared(*arguments)
    assert message in str(refused.value)


def of_answer_spaces(*arguments: str) -> EvaluateConfig:
    return composed(*prepared("experiment=answer_spaces", *arguments))


def test_what_is_said_of_the_data_set_reaches_all_of_an_experiment(tmp_path: Path) -> None:
    for name in ("mmlu", "mmlu_pro", "boolq"):
        (tmp_path / name).mkdir()
    cfg = of_answer_spaces(f"dataset.path={tmp_path}", "model=smollm2", "dataset.limit=4")
    assert {name: (one.limit, one.path) for name, one in cfg.datasets.items()} == {
        "mmlu": (4, str(tmp_path / "mmlu")),
        "mmlu_pro": (4, str(tmp_path / "mmlu_pro")),
    }
    assert cfg.datasets["mmlu_pro"].split == "test"
    assert of_answer_spaces().datasets["mmlu"].limit == 200
    assert of_answer_spaces("datasets.mmlu.limit=7").datasets["mmlu"].limit == 7
    (tmp_path / "mmlu_pro").rmdir()
    with pytest.raises(ConfigError, match="there is no .*mmlu_pro; give datasets.mmlu_pro.path"):
        of_answer_spaces(f"dataset.path={tmp_path}")


def test_data_sets_named_beside_an_experiment_take_the_place_of_its_own(tmp_path: Path) -> None:
    one = of_answer_spaces("dataset=boolq", "dataset.limit=4")
    assert (one.datasets, one.dataset.name, one.dataset.limit) == ({}, "boolq", 4)
    two = of_answer_spaces("dataset=boolq,mmlu", "dataset.limit=4")
    assert {name: one.limit for name, one in two.datasets.items()} == {"boolq": 4, "mmlu": 4}
    assert two.evaluation.variants.matched, "the rest of the experiment stays"


def test_sweeps_over_experiments() -> None:
    given = prepared("-m", "experiment=answer_spaces,surface", "dataset.limit=4")
    assert given == ["datasets.mmlu.limit=4", "datasets.mmlu_pro.limit=4", "-m", "experiment=answer_spaces,surface"]
    assert prepared("-m", "experiment=answer_spaces,mmlu_domains") == ["-m", "experiment=answer_spaces,mmlu_domains"]
    with pytest.raises(ConfigError, match="they have other data sets, so dataset.limit=4"):
        prepared("-m", "experiment=answer_spaces,mmlu_domains", "dataset.limit=4")
