"""The adapters by name. A new data set is a new file here and a line below."""

from __future__ import annotations

from thinkgap.data import (
    ai2d,
    boolq,
    digit_scenes,
    gsm8k,
    hendrycks_math,
    jsonl,
    mmbench,
    mmlu,
    mmlu_pro,
    mmmu,
    number_facts,
    scienceqa,
    strategyqa,
    toy_facts,
)
from thinkgap.data.adapter import Adapter

ADAPTERS: dict[str, Adapter] = {
    module.ADAPTER.name: module.ADAPTER
    for module in (
        scienceqa,
        ai2d,
        mmmu,
        mmbench,
        boolq,
        strategyqa,
        mmlu,
        mmlu_pro,
        gsm8k,
        hendrycks_math,
        jsonl,
        toy_facts,
        digit_scenes,
        number_facts,
    )
}
