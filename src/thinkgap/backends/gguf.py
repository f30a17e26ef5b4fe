"""GGUF file -> a Hugging Face folder in the cache, converted once and checked to give identical logits.

transformers dequantises GGUF weights at every load, which takes seconds, and refuses `save_pretrained` on the
result; so the state dict, config and tokenizer are written here. Knows no model family.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from pathlib import Path
from typing import Any

from thinkgap.backends.locate import file_sha256
from thinkgap.errors import ModelError

log = logging.getLogger(__name__)

_PROBE = "Question: which is larger, 12 or 7?\nA. 12\nB. 7\n"
_DONE = "thinkgap_conversion.json"
_FORM = 2
"""Of what is written; folders of another form are left alone and not read."""


def converted_folder(file: Path, cache_dir: Path) -> Path:
    """Folder converted from `file`, made on first use; keyed by content, transformers version and form.

    Raises:
        ModelError: the converted folder does not reproduce the GGUF model's logits or tokens.
    """
    import transformers

    key = f"{file_sha256(file)[:16]}-tf{transformers.__version__}-{_FORM}"
    folder = cache_dir / "gguf" / f"{file.stem}-{key}"
    if (folder / _DONE).is_file():
        return folder
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / _DONE).is_file():
            log.info("converting %s once into %s", file.name, folder)
            _convert(file, folder)
    return folder


def _convert(file: Path, folder: Path) -> None:
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source: dict[str, Any] = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
    scratch = Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=folder.parent))
    try:
        config = json.loads(model.config.to_json_string(use_diff=True))
        config.pop("quantization_config", None)  # the weights written here are plain float32
        # A GGUF file names no class, and servers ask the config for one.
        config["architectures"] = [type(model).__name__]
        (scratch / "config.json").write_text(json.dumps(config, indent=2))
        save_file(_untied(model.state_dict()), scratch / "model.safetensors", metadata={"format": "pt"})
        model.generation_config.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        _check(model, tokenizer, scratch)
        (scratch / _DONE).write_text(json.dumps({"source": file.name, "sha256": file_sha256(file)}))
        if folder.exists():
            shutil.rmtree(folder)
        scratch.chmod(0o755)  # a cache may be shared; mkdtemp's folders are private
        scratch.replace(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _untied(state: dict[str, Any]) -> dict[str, Any]:
    """State dict with one name for each storage: tied weights are tied again by the config at load."""
    kept: dict[int, str] = {}
    for name, tensor in state.items():
        kept.setdefault(tensor.data_ptr(), name)
    return {name: state[name].contiguous() for name in kept.values()}


def _check(model: Any, tokenizer: Any, folder: Path) -> None:
    """Tokens and logits from the folder must equal those of the GGUF model, bit for bit."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    again = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(_PROBE, return_tensors="pt").input_ids
    if not torch.equal(ids, again(_PROBE, return_tensors="pt").input_ids):
        raise ModelError(f"converting {folder.name}: the saved tokenizer gives other tokens")
    copy = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        if not torch.equal(model(ids).logits, copy(ids).logits):
            raise ModelError(f"converting {folder.name}: the saved weights give other logits")
