"""`EncoderConfig` -> a loaded encoder whose checkpoint does what the settings say, or one error that names the setting.

Knows how checkpoints are found and loaded; what they must be like is in `encoders.checks`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from thinkgap.backends.locate import Checkpoint, find_checkpoint, folder_digest
from thinkgap.encoders.checks import check_against_encode, check_padding, check_settings, length_of, pooling_of
from thinkgap.encoders.encoder import Encoder
from thinkgap.encoders.tokens import Tokeniser
from thinkgap.errors import ModelError
from thinkgap.schema import Dtype, EncoderConfig

T = TypeVar("T")
_MODULES = "modules.json"
_LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")
_FORM = 1
"""Raised when windows or vectors are made in another way, so that older vectors are not found any more."""


def open_encoder(cfg: EncoderConfig, device: str = "cpu") -> Encoder:
    """Load an encoder, and check that it is the one that the settings describe.

    Args:
        cfg: the settings.
        device: of torch; with `dtype=auto` a CPU has float32, any other device the checkpoint's own type.

    Raises:
        ConfigError: a setting that cannot hold for any checkpoint, or for this one.
        ModelError: nothing loadable at `encoder.path`; pooling, padding side or end token differ from the settings;
            weights are missing; or windows of token ids do not give what `SentenceTransformer.encode` gives.
    """
    check_settings(cfg)
    checkpoint = find_checkpoint(cfg.path, "", setting="encoder.path", needed=_MODULES)
    model = _load(cfg, checkpoint, device)
    pooling = pooling_of(cfg, model)
    check_padding(cfg, model.tokenizer)
    model.max_seq_length = max_length = length_of(cfg, model)
    tokeniser = Tokeniser(model.tokenizer, cfg.name, max_length, cfg.end_token)
    for setting in ("query_prompt", "trace_prompt"):
        tokeniser.check_room(getattr(cfg, setting), setting)
    check_against_encode(cfg, model, tokeniser)
    inner = model[0].model
    facts = {
        "form": _FORM,
        "revision": _revision(checkpoint, inner),
        "class": type(inner).__name__,
        "dtype": str(model.dtype).removeprefix("torch."),
        "attn_implementation": inner.config._attn_implementation,
        "device": model.device.type,
        "pooling": pooling,
        "padding_side": model.tokenizer.padding_side,
        "end_token": cfg.end_token,
        "max_length": max_length,
        "libraries": {name: version(name) for name in _LIBRARIES},
    }
    return Encoder(cfg, model, tokeniser, facts)


def _load(cfg: EncoderConfig, checkpoint: Checkpoint, device: str) -> Any:
    """The model in evaluation mode."""
    import torch

    # Under WANDB_MODE=offline transformers says so on standard output, where the tables go.
    with contextlib.redirect_stdout(io.StringIO()):
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.util import is_sentence_transformer_model

    source = checkpoint.source
    given: dict[str, Any] = {"local_files_only": checkpoint.local}
    if cfg.revision is not None and not checkpoint.local:
        given["revision"] = cfg.revision
    # Without it, sentence-transformers would make up a pooling.
    if not _loading(cfg, checkpoint, lambda: is_sentence_transformer_model(source, **given)):
        raise ModelError(
            f"encoder.path={cfg.path}: no {_MODULES} was found, so its pooling is not known; check the id and the "
            "connection, or give a folder that has one"
        )
    given["trust_remote_code"] = cfg.trust_remote_code
    dtype = "float32" if cfg.dtype is Dtype.auto and device.startswith("cpu") else cfg.dtype.name
    weights: dict[str, Any] = {"use_safetensors": True}  # other weights are pickles, which can run any program
    weights |= {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    model = _loading(cfg, checkpoint, lambda: SentenceTransformer(source, device=device, model_kwargs=weights, **given))
    inner = getattr(model[0], "model", None)
    if inner is None or model.tokenizer is None:
        raise ModelError(f"encoder {cfg.name}: {cfg.path} is no transformer with a tokenizer")
    # Only the names are compared here: nothing is read onto the meta device.
    folder = str(_folders(checkpoint)[0]) if checkpoint.local else source
    report = _loading(
        cfg,
        checkpoint,
        lambda: type(inner).from_pretrained(folder, device_map="meta", output_loading_info=True, **given),
    )[1]
    # Sentence vectors come from token vectors; the pooler on top of them is often left out of a checkpoint.
    missing = sorted(key for key in map(str, report["missing_keys"]) if "pooler." not in key)
    if missing:
        raise ModelError(
            f"encoder {cfg.name}: {len(missing)} weights are missing in {cfg.path} ({', '.join(missing[:3])}); they "
            "would be random, so check the files"
        )
    return model.eval()


def _loading(cfg: EncoderConfig, checkpoint: Checkpoint, load: Callable[[], T]) -> T:
    """Call `load`, turning its many ways to fail into one error that names the encoder."""
    try:
        return load()
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        way_out = (
            "check the folder"
            if checkpoint.local
            else "check the id and the connection, or set encoder.path to a downloaded folder"
        )
        if "safetensors" in reason:
            way_out = "pickled weights (.bin) are not read: give a checkpoint with .safetensors, or convert it"
        raise ModelError(f"cannot load encoder {cfg.name} from {cfg.path}: {reason} ({way_out})") from error


def _folders(checkpoint: Checkpoint) -> list[Path]:
    """The folder of each module of a local checkpoint, the transformer's first."""
    root = Path(checkpoint.source)
    modules = json.loads((root / _MODULES).read_text(encoding="utf-8"))
    return [root / module["path"] for module in modules]


def _revision(checkpoint: Checkpoint, inner: Any) -> str:
    """The commit of a hub checkpoint, or a digest of all files of a local one's modules."""
    if not checkpoint.local:
        return str(inner.config._commit_hash)
    root = Path(checkpoint.source)
    folders = sorted({root, *(folder for folder in _folders(checkpoint) if folder.is_dir())})
    digests = [[str(one.relative_to(root)), folder_digest(replace(checkpoint, source=str(one)))] for one in folders]
    return "sha256:" + hashlib.sha256(json.dumps(digests).encode()).hexdigest()
