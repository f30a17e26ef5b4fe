"""A local transformers model behind the two questions the rest of the tool asks of it: how does it render and
tokenise a prompt, and what are its next-token logits.

The plain reference path: one full forward per prompt, in right-padded batches, with explicit positions and logits
at the read position only. Family knowledge is in `families`, paths in `locate`.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.families import (
    Structure,
    find_structure,
    position_ids,
    set_pixel_bounds,
    thinking_switch,
    verify,
)
from thinkgap.backends.locate import Checkpoint, find_checkpoint
from thinkgap.errors import ConfigError, ModelError, PromptError
from thinkgap.prompts.build import Encoded, PreparedPrompt
from thinkgap.prompts.render import Message
from thinkgap.schema import BackendKind, Dtype, Modality, ModelConfig, ThinkingSwitch
from thinkgap.types import ImageRef, Thinking

log = logging.getLogger(__name__)

_SENTINEL = "qzxsentinelqzx"


@dataclass
class TextFormat:
    """Tokenizer or processor of one model: rendering and tokenising, no weights."""

    name: str
    processor: Any
    tokenizer: Any
    is_vision: bool
    max_length: int
    switch: ThinkingSwitch
    chat_template: bool = True
    image_token_id: int | None = None
    assistant_joiner: str = field(init=False, default="")
    """White space between the generation prompt and the assistant's first word, read off the template."""
    keeps_image_order: bool = field(init=False, default=True)
    """Whether the template leaves an image between two texts, found by rendering one."""
    start_ids: list[int] = field(init=False, default_factory=list)
    """Ids that the tokenizer puts before any text of its own accord (a start token), or none."""
    _controls: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        controls = [str(token) for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        # An empty alternation would match everywhere, so a pattern that never matches stands in for "none".
        self._controls = re.compile("|".join(map(re.escape, controls)) or r"(?!)")
        if self.chat_template and not getattr(self._template_host, "chat_template", None):
            raise ModelError(
                f"{self.name} has no chat template: set prompt.chat_template=false to send plain text (base models)"
            )
        self.start_ids = self._find_start_ids()
        if self.chat_template:
            self._check_switch()
            self.assistant_joiner = self._find_joiner()
            self.keeps_image_order = not self.is_vision or self._finds_image_in_place()

    @property
    def _template_host(self) -> Any:
        return self.processor if getattr(self.processor, "chat_template", None) else self.tokenizer

    def _find_start_ids(self) -> list[int]:
        plain = self.tokenizer("x", add_special_tokens=False).input_ids
        full = self.tokenizer("x", add_special_tokens=True).input_ids
        end = len(full) - len(plain)
        # A tokenizer may also append a token; only what stands before the text is wanted.
        while end > 0 and full[end : end + len(plain)] != plain:
            end -= 1
        return list(full[:end])

    def _find_joiner(self) -> str:
        user: Message = {"role": "user", "content": self._content("q")}
        reply: Message = {"role": "assistant", "content": self._content(_SENTINEL)}
        opened = self.apply_template([user], generation_prompt=True, thinking=Thinking.default)
        whole = self.apply_template([user, reply], generation_prompt=False, thinking=Thinking.default)
        between = whole[len(opened) : whole.find(_SENTINEL)] if whole.startswith(opened) else ""
        return between if between.isspace() else ""

    def _finds_image_in_place(self) -> bool:
        parts = [{"type": "text", "text": "alpha"}, {"type": "image"}, {"type": "text", "text": "omega"}]
        message: Message = {"role": "user", "content": parts}
        text = self.apply_template([message], generation_prompt=True, thinking=Thinking.default)
        return bool(text[text.index("alpha") + 5 : text.index("omega")].strip())

    def apply_template(self, messages: Sequence[Message], *, generation_prompt: bool, thinking: Thinking) -> str:
        """Render messages as text with the thinking switch set as asked.

        Raises:
            ConfigError: thinking is to be enabled and the model has no switch for it.
        """
        arguments: Mapping[str, Any] = {}
        if thinking is Thinking.enabled:
            if not self.switch.enabled:
                raise ConfigError(f"{self.name} has no thinking switch: thinking cannot be enabled for it")
            arguments = self.switch.enabled
        elif thinking is Thinking.disabled:
            arguments = self.switch.disabled
        return self._template_host.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=generation_prompt, **arguments
        )

    def tokenize(self, text: str) -> list[int]:
        """Ids of a whole rendered text; the start token stands there once, whoever writes it."""
        return self._start(text) + list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def control_token_in(self, text: str) -> str | None:
        """A special token that `text` spells out, or None."""
        match = self._controls.search(text)
        return match.group() if match else None

    def encode(self, text: str, images: Sequence[ImageRef]) -> Encoded:
        """Ids with image tokens expanded, and the processor's tensors; the text is tokenised whole.

        Raises:
            PromptError: the processor shows another number of images than the item has.
        """
        if not self.is_vision:
            return Encoded(tuple(self.tokenize(text)))
        batch = dict(
            self.processor(
                text=[text],
                images=[open_image(image) for image in images] or None,
                add_special_tokens=False,
                return_tensors="pt",
            )
        )
        start = self._start(text)
        ids = torch.cat([torch.tensor([start], dtype=torch.long), batch.pop("input_ids")], dim=1)[0]
        batch.pop("attention_mask", None)
        tensors = {
            key: torch.nn.functional.pad(value, (len(start), 0)) if value.shape == (1, len(ids) - len(start)) else value
            for key, value in batch.items()
        }
        n_image_tokens = int((ids == self.image_token_id).sum())
        if bool(images) != bool(n_image_tokens):
            raise PromptError(f"it has {len(images)} image(s) and its prompt {n_image_tokens} image tokens")
        return Encoded(tuple(ids.tolist()), tensors, n_image_tokens)

    def _start(self, text: str) -> list[int]:
        bos = self.tokenizer.bos_token
        return [] if bos and text.startswith(bos) else self.start_ids

    def _content(self, text: str) -> Any:
        return [{"type": "text", "text": text}] if self.is_vision else text

    def _check_switch(self) -> None:
        """A switch that the template ignores would measure another condition than was asked for."""
        if not self.switch.enabled:
            return
        message: Message = {"role": "user", "content": self._content("q")}
        on, off = (
            self.apply_template([message], generation_prompt=True, thinking=state)
            for state in (Thinking.enabled, Thinking.disabled)
        )
        if on == off:
            raise ModelError(
                f"{self.name}: {self.switch.enabled} and {self.switch.disabled} render the same prompt, so its chat "
                "template ignores them: correct or empty model.thinking"
            )


@dataclass
class HFBackend:
    """A loaded model with its `TextFormat`."""

    fmt: TextFormat
    model: Any
    structure: Structure
    checkpoint: Checkpoint
    revision: str
    placed: bool
    """Whether a device map already put the weights where they belong."""
    check_error: float

    @property
    def device(self) -> torch.device:
        """Where inputs go."""
        return self.model.get_input_embeddings().weight.device

    def to(self, device: torch.device) -> None:
        """Move the weights, unless a device map or a quantiser placed them."""
        if not self.placed:
            self.model.to(device)

    @torch.inference_mode()
    def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> Tensor:
        """Float32 logits `[B, V]` of the token after each prompt."""
        inputs = {key: value.to(self.device) for key, value in collate(prompts, self.pad_id).items()}
        floating = {key: value.to(self.model.dtype) for key, value in inputs.items() if value.is_floating_point()}
        inputs.update(floating)
        last = inputs["attention_mask"].sum(-1, keepdim=True) - 1
        output = self.model(
            **inputs, position_ids=position_ids(self.model, inputs), logits_to_keep=last, use_cache=False
        )
        return output.logits[:, 0].float()

    @property
    def pad_id(self) -> int:
        """Id that fills the padded positions; masked, so any id will do."""
        pad = self.fmt.tokenizer.pad_token_id
        return 0 if pad is None else pad

    def describe(self) -> dict[str, Any]:
        """What the manifest records of the model."""
        config = self.model.config
        return {
            "path": self.checkpoint.origin,
            "revision": self.revision,
            "class": type(self.model).__name__,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "attn_implementation": getattr(config, "_attn_implementation", None),
            "quantization": getattr(getattr(config, "quantization_config", None), "quant_method", None),
            "vocab_size": config.get_text_config().vocab_size,
            "max_length": self.fmt.max_length,
            "structure_check_error": self.check_error,
            **describe_format(self.fmt),
        }


def describe_format(fmt: TextFormat) -> dict[str, Any]:
    """What the manifest records of tokenizer, template and image processor."""
    template = getattr(fmt._template_host, "chat_template", None) or ""
    described: dict[str, Any] = {
        "tokenizer": type(fmt.tokenizer).__name__,
        "chat_template_sha256": hashlib.sha256(str(template).encode()).hexdigest(),
        "assistant_joiner": fmt.assistant_joiner,
        "thinking_switch": {"enabled": fmt.switch.enabled, "disabled": fmt.switch.disabled},
    }
    if fmt.is_vision:
        image_processor = fmt.processor.image_processor
        described["keeps_image_order"] = fmt.keeps_image_order
        described["image_processor"] = {"class": type(image_processor).__name__} | {
            key: value for key, value in image_processor.to_dict().items() if _plain(value)
        }
    return described


def collate(prompts: Sequence[PreparedPrompt], pad_id: int) -> dict[str, Tensor]:
    """Right-padded model inputs of several prompts.

    Tensors of shape `[1, T]` follow the tokens and are padded with 0 (absent ones count as 0); all others
    (pixels, grids) are concatenated along their first axis, in prompt order.
    """
    lengths = [len(prepared.prompt.input_ids) for prepared in prompts]
    width = max(lengths)
    ids = torch.full((len(prompts), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, (prepared, length) in enumerate(zip(prompts, lengths, strict=True)):
        ids[row, :length] = torch.tensor(prepared.prompt.input_ids)
        mask[row, :length] = 1
    inputs = {"input_ids": ids, "attention_mask": mask}
    for key in dict.fromkeys(key for prepared in prompts for key in prepared.tensors):
        values = [prepared.tensors.get(key) for prepared in prompts]
        per_token = all(
            value is None or value.shape == (1, length) for value, length in zip(values, lengths, strict=True)
        )
        if not per_token:
            inputs[key] = torch.cat([value for value in values if value is not None])
            continue
        joined = torch.zeros_like(ids)
        for row, value in enumerate(values):
            if value is not None:
                joined[row, : lengths[row]] = value[0]
        inputs[key] = joined
    return inputs


def open_image(image: ImageRef) -> Any:
    """The decoded picture, RGB, for a processor."""
    from PIL import Image

    with Image.open(io.BytesIO(image.load())) as picture:
        return picture.convert("RGB")


def load_format(cfg: ModelConfig, chat_template: bool = True, cache_dir: str = "~/.cache/thinkgap") -> TextFormat:
    """Tokenizer or processor of `cfg`, without weights.

    Raises:
        ModelError: it cannot be found or read.
        ConfigError: the model is a served one.
    """
    return _format(cfg, _checkpoint(cfg, cache_dir), chat_template)


def load_backend(
    cfg: ModelConfig, *, on_accelerator: bool, chat_template: bool = True, cache_dir: str = "~/.cache/thinkgap"
) -> HFBackend:
    """Load model and tokenizer or processor, and verify the structure numerically.

    Raises:
        ModelError: nothing loadable at `model.path`, or the check fails.
    """
    import transformers

    checkpoint = _checkpoint(cfg, cache_dir)
    fmt = _format(cfg, checkpoint, chat_template)
    auto = transformers.AutoModelForImageTextToText if fmt.is_vision else transformers.AutoModelForCausalLM
    dtype = cfg.dtype.name
    if cfg.dtype is Dtype.auto and not on_accelerator:
        dtype = "float32"
    arguments: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    for key in ("device_map", "attn_implementation"):
        if (value := getattr(cfg, key)) is not None:
            arguments[key] = value
    if cfg.quantization is not None:
        arguments["quantization_config"] = dict(cfg.quantization)
    model = _loading(auto.from_pretrained, cfg, checkpoint, **arguments).eval()
    structure = find_structure(model, cfg.name)
    placed = cfg.device_map is not None or cfg.quantization is not None
    error = verify(model, structure, cfg.name)
    revision = getattr(model.config, "_commit_hash", None) or folder_digest(checkpoint)
    return HFBackend(fmt, model, structure, checkpoint, revision, placed, error)


def _checkpoint(cfg: ModelConfig, cache_dir: str) -> Checkpoint:
    if cfg.backend is not BackendKind.hf:
        raise ConfigError(
            f"model={cfg.name} is served: its label log-probabilities and token ids are not available; "
            "choose a local model, or evaluation=prompts to see what would be sent"
        )
    return find_checkpoint(cfg.path, cache_dir)


def _format(cfg: ModelConfig, checkpoint: Checkpoint, chat_template: bool) -> TextFormat:
    import transformers

    config = _loading(transformers.AutoConfig.from_pretrained, cfg, checkpoint)
    is_vision = cfg.modality is Modality.vision
    if cfg.modality is Modality.auto:
        is_vision = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    if is_vision:
        processor = _loading(transformers.AutoProcessor.from_pretrained, cfg, checkpoint)
        tokenizer = processor.tokenizer
        set_pixel_bounds(processor, cfg.min_pixels, cfg.max_pixels, cfg.name)
        image_token_id = getattr(config, "image_token_id", None)
    else:
        processor = tokenizer = _loading(transformers.AutoTokenizer.from_pretrained, cfg, checkpoint)
        image_token_id = None
    context = getattr(config.get_text_config(), "max_position_embeddings", None)
    max_length = min(bound for bound in (cfg.max_length, context, 10**9) if bound is not None)
    switch = cfg.thinking
    if not switch.enabled and not switch.disabled and chat_template:
        template = getattr(processor, "chat_template", None) or getattr(tokenizer, "chat_template", None)
        switch = thinking_switch(template) if isinstance(template, str) else ThinkingSwitch()
    return TextFormat(
        cfg.name, processor, tokenizer, is_vision, max_length, switch, chat_template, image_token_id=image_token_id
    )


def _loading(load: Any, cfg: ModelConfig, checkpoint: Checkpoint, **arguments: Any) -> Any:
    """Call a `from_pretrained`, turning its many ways to fail into one error that names the model."""
    if cfg.revision is not None and not checkpoint.local:
        arguments["revision"] = cfg.revision
    try:
        return load(checkpoint.source, trust_remote_code=cfg.trust_remote_code, **arguments)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        way_out = (
            "check the folder"
            if checkpoint.local
            else "check the id and the connection, or set model.path to a downloaded folder"
        )
        raise ModelError(f"cannot load model {cfg.name} from {cfg.path}: {reason} ({way_out})") from error


def folder_digest(checkpoint: Checkpoint) -> str:
    """Digest of a local checkpoint: small files whole, weight files by name, size, first and last MiB."""
    digest = hashlib.sha256()
    for file in sorted(Path(checkpoint.source).iterdir()):
        if not file.is_file():
            continue
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(2**20))
            if size > 2**20:
                stream.seek(-(2**20), 2)
                digest.update(stream.read(2**20))
    return "sha256:" + digest.hexdigest()


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | list | dict | type(None))
