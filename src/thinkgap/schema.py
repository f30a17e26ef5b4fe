"""Typed configuration of every entry point, registered with Hydra's ConfigStore.

A typo or a wrong type in a file or on the command line fails while Hydra composes, before anything is loaded.
Below the entry points no `DictConfig` exists: `omegaconf.OmegaConf.to_object` turns the composed tree into these
dataclasses. Nothing heavy is imported here, so that `--help` and `--cfg job` stay quick.

The string under each field is its documentation; `docs/configuration.md` is checked against them by a test.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import Any, Dict, List, Optional

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from thinkgap.types import AMBIGUOUS_WORDS, REASONING_WORDS, Placement, Request, Thinking


class BackendKind(Enum):
    """Where a model runs."""

    hf = "hf"
    api = "api"
    vllm = "vllm"


class Dtype(Enum):
    """Weight and activation type; `auto` is the checkpoint's own on an accelerator and float32 on CPU."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class Modality(Enum):
    """Whether to load a text-only or an image-text model; `auto` asks the checkpoint's config."""

    auto = "auto"
    text = "text"
    vision = "vision"


class LabelVariant(Enum):
    """Which token stands for a label: `A`, ` A`, both summed, or the one natural at Direct's read position."""

    auto = "auto"
    bare = "bare"
    spaced = "spaced"
    both = "both"


class LabelScope(Enum):
    """Whether every condition reads Direct's label ids, or each condition its own natural ones."""

    shared = "shared"
    natural = "natural"


class ImageFilter(Enum):
    """Which items to keep by whether they have an image."""

    any = "any"
    only = "only"
    none = "none"


class DuplicateOptions(Enum):
    """What becomes of an item in which two options have the same text."""

    skip = "skip"
    keep = "keep"


class EvaluationKind(Enum):
    """What an evaluation run does."""

    native = "native"
    permutation = "permutation"
    vocabulary = "vocabulary"
    layers = "layers"
    likelihood = "likelihood"
    generation = "generation"
    prefix_study = "prefix_study"
    no_thinking = "no_thinking"
    prompts = "prompts"


class OrderDesign(Enum):
    """Which orders of an item's options are shown beside the source's own."""

    seeded = "seeded"
    cyclic = "cyclic"
    all = "all"


class Negative(Enum):
    """Which wrong option a negative proposal proposes.

    A seeded draw; the first one, as in the inertia study; or the one that a model found most likely in an earlier run.
    """

    random = "random"
    first = "first"
    hardest = "hardest"


class OptionForm(Enum):
    """Which string of an option has its likelihood taken: `mitosis`, or `B. mitosis`."""

    text = "text"
    labelled = "labelled"


class Scoring(Enum):
    """How prompts go through the model; `auto` takes the fastest way that is exact for it."""

    auto = "auto"
    packed = "packed"
    branched = "branched"
    plain = "plain"


class StateDtype(Enum):
    """How hidden states are stored; `auto` is the model's own type, which loses nothing."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class ProbeKind(Enum):
    """What is trained on stored states."""

    linear = "linear"
    lm_head_lora = "lm_head_lora"


class ProbeSolver(Enum):
    """How linear probes are fitted."""

    adamw = "adamw"
    exact = "exact"


class SharedItems(Enum):
    """What becomes of training items that share something with items that are selected on or reported."""

    refuse = "refuse"
    drop = "drop"


class AdapterLoss(Enum):
    """Over which tokens the right label's probability is taken: the whole vocabulary, or the item's labels alone."""

    vocabulary = "vocabulary"
    labels = "labels"


class ServedApi(Enum):
    """Request format of a served model."""

    chat = "chat"
    responses = "responses"


class TokenField(Enum):
    """Name under which a provider takes the limit on new tokens."""

    max_tokens = "max_tokens"
    max_completion_tokens = "max_completion_tokens"
    max_output_tokens = "max_output_tokens"


class TemperatureRule(Enum):
    """What becomes of a temperature that is asked for: `omit` leaves it out and records that it was not sent."""

    send = "send"
    omit = "omit"
    refuse = "refuse"


class PrefillForm(Enum):
    """How a served model is given the opening of the assistant turn, if it can be given one."""

    none = "none"
    continue_final_message = "continue_final_message"
    prefix = "prefix"


class Pooling(Enum):
    """How an encoder makes one vector of a text: the mean of its tokens, the first token, or the last one."""

    mean = "mean"
    cls = "cls"
    lasttoken = "lasttoken"


class JudgeKind(Enum):
    """Who labels traces: transparent rules, a served model, or a local one."""

    rules = "rules"
    served = "served"
    local = "local"


class WandbMode(Enum):
    """`auto` is online when an API key is found and offline otherwise."""

    auto = "auto"
    online = "online"
    offline = "offline"
    disabled = "disabled"


@dataclass
class ThinkingSwitch:
    """How a model's own thinking is controlled; an empty mapping says that the model has no such setting."""

    enabled: Dict[str, Any] = field(default_factory=dict)
    """Chat-template arguments (local) or request fields (served) that turn thinking on."""
    disabled: Dict[str, Any] = field(default_factory=dict)
    """The same, to turn it off."""


@dataclass
class ServedConfig:
    """Where and how a served model is reached."""

    base_url: str = ""
    """Root of the provider's API."""
    api: ServedApi = ServedApi.chat
    """Request format."""
    api_key_env: str = ""
    """Name of the environment variable that holds the key; the key itself is never configured or logged. Empty for a
    server that asks for none."""
    thinks: bool = True
    """Whether the model can think. If it cannot, `disabled` sends nothing, because nothing has to be turned off."""
    token_field: TokenField = TokenField.max_tokens
    """Name of the limit on new tokens."""
    temperature_thinking: TemperatureRule = TemperatureRule.send
    """What becomes of the temperature where thinking is enabled."""
    temperature_plain: TemperatureRule = TemperatureRule.send
    """The same where thinking is disabled."""
    prefill: PrefillForm = PrefillForm.none
    """Form of a prefill; `none` refuses modes that have one."""
    prefill_base_url: str = ""
    """Root of the API for requests with a prefill; empty is `base_url`."""
    extra_body: Dict[str, Any] = field(default_factory=dict)
    """Fields that every request carries beside these."""
    requests_per_minute: Optional[int] = None
    """Requests begun in a minute, repeated ones included; null sets no limit."""
    concurrency: int = 8
    """Requests that are open at a time."""
    timeout: float = 600.0
    """Seconds that one try of a request may take."""
    max_retries: int = 5
    """Further tries after a fault that may pass (429, 5xx, closed connection, no answer in time)."""


@dataclass
class ModelConfig:
    """A model: where its weights are and how they are loaded."""

    name: str = "???"
    """Short name used in tables and run names."""
    backend: BackendKind = BackendKind.hf
    """`hf` loads with transformers; `vllm` runs in this process where vLLM is installed, or behind a vLLM server
    (`served.base_url`): labels at the read position and replies; `api` is a served model."""
    path: str = "???"
    """Hub id, local folder, .gguf file, `package:module/` before either inside an installed package, or the provider's
    model id."""
    revision: Optional[str] = None
    """Hub branch, tag or commit."""
    sha256: Optional[str] = None
    """SHA-256 that `model.safetensors` of a local folder must have; null takes it as it is."""
    modality: Modality = Modality.auto
    """Text-only or image-text; `auto` asks the checkpoint."""
    dtype: Dtype = Dtype.auto
    """Weight type."""
    device_map: Any = None
    """Passed to transformers (`auto`, a device, or a mapping); null puts the model on the trainer's device."""
    attn_implementation: Optional[str] = None
    """Passed to transformers (`sdpa`, `eager`, `flash_attention_2`); null leaves its default."""
    compile: bool = False
    """Whether to compile the decoder's layers (torch.compile); on a CPU that takes a C++ compiler and half a minute."""
    quantization: Optional[Dict[str, Any]] = None
    """A transformers quantisation config as a mapping, e.g. `{quant_method: bitsandbytes, load_in_4bit: true}`."""
    random_weights: Optional[int] = None
    """Seed of random weights that take the place of the checkpoint's, for controls; null loads the checkpoint's."""
    trust_remote_code: bool = False
    """Whether code inside the checkpoint may run."""
    min_pixels: Optional[int] = None
    """Smallest image area after resizing, where the image processor has such a bound; null keeps its own."""
    max_pixels: Optional[int] = None
    """Largest image area after resizing; null keeps the processor's own."""
    max_length: Optional[int] = None
    """Longest prompt in tokens; null is the model's own context length."""
    thinking: ThinkingSwitch = field(default_factory=ThinkingSwitch)
    """How its thinking is switched."""
    served: ServedConfig = field(default_factory=ServedConfig)
    """For `backend: api`. With `backend: vllm`, `base_url`, `api_key_env`, `concurrency`, `timeout` and `max_retries`
    are those of a vLLM server that runs `path`; labels are then read there."""
    vllm: Dict[str, Any] = field(default_factory=dict)
    """For `backend: vllm`: further arguments of `vllm.LLM`, such as `tensor_parallel_size`."""


@dataclass
class GenerationConfig:
    """How a data set that makes its own items makes them; other data sets refuse these."""

    size: Optional[int] = None
    """Questions of a split; null is 20,000 (train), 1,000 (validation) or 2,000 (test)."""
    image_free: float = 0.25
    """Share of questions whose scene is told in words instead of shown (digit_scenes)."""
    forms: List[str] = field(default_factory=lambda: ["bool", "mcq", "open"])
    """Forms in which each fact is asked (number_facts)."""
    splits: Dict[str, List[float]] = field(
        default_factory=lambda: {"train": [0.0, 0.7], "validation": [0.7, 0.8], "test": [0.8, 1.0]}
    )
    """Part of all handwritten digits and of all scenes that each split takes, by digest from 0 to 1; parts that overlap
    are refused."""


@dataclass
class DatasetConfig:
    """A benchmark: its adapter, its source, and which of its items are used."""

    name: str = "???"
    """Adapter, one of `thinkgap.data.ADAPTERS`."""
    path: str = "???"
    """Hub id, a folder with `{split}.parquet` or `{split}.jsonl`, one such file, or `generated`."""
    config: Optional[str] = None
    """Configuration of a hub dataset (`all`, `main`)."""
    split: str = "test"
    """Split to read."""
    revision: Optional[str] = None
    """Hub branch, tag or commit."""
    images: ImageFilter = ImageFilter.any
    """Keep all items, only those with an image, or only those without."""
    subjects: Optional[List[str]] = None
    """Keep only these subjects; null keeps all."""
    image_root: Optional[str] = None
    """Folder that image files named in rows must lie in, links followed; null is the folder of the data file."""
    limit: Optional[int] = None
    """Seeded sample of this many items, stratified by subject and number of options; null is all."""
    seed: int = 0
    """Seed of the sample, and of generated datasets."""
    duplicate_options: DuplicateOptions = DuplicateOptions.skip
    """`skip` treats a row with two equal options as bad; `keep` keeps and reports it (published sets have some)."""
    max_bad: float = 0.01
    """Share of unreadable rows above which the run stops before any forward pass."""
    generation: GenerationConfig = field(default_factory=GenerationConfig)
    """How a generated set is made."""


@dataclass
class TriggerSpec:
    """One trigger of the prefix study."""

    text: str = ""
    """Appended byte-exact where `trigger.placement` says; empty is Direct."""
    requests: Request = Request.rationale
    """The event that the trigger asks for."""


@dataclass
class TriggerConfig:
    """The triggers that one run measures, all on the same items."""

    placement: Placement = Placement.user
    """Where a trigger stands and where the label is read."""
    conditions: Dict[str, TriggerSpec] = field(default_factory=dict)
    """By name; Direct is added if it is missing."""


@dataclass
class ModeSpec:
    """One answer mode of the inertia study."""

    instruction: str = ""
    """Instruction line, byte-exact; empty for none."""
    thinking: Thinking = Thinking.disabled
    """What is asked of the thinking switch."""
    requests: Request = Request.answer_only
    """The event that the mode asks for."""
    user_suffix: str = ""
    """Appended to the answer-format line inside the user message."""
    prefill: str = ""
    """Opens the assistant turn."""
    soft_switch: str = ""
    """First line of the user message."""


@dataclass
class ModeConfig:
    """The answer modes that one run uses."""

    format_example: bool = True
    """Keep the example in the answer-format line."""
    conditions: Dict[str, ModeSpec] = field(default_factory=dict)
    """By name."""


@dataclass
class PromptConfig:
    """What stands in every prompt beside the item and the condition."""

    instruction: str = ""
    """A line after the choices, such as a request for the letter; empty is the study's prompt."""
    system: Optional[str] = None
    """System message; null leaves the chat template's own."""
    chat_template: bool = True
    """Whether to render with the model's chat template; false sends plain text (base models)."""
    thinking: Thinking = Thinking.disabled
    """Thinking switch under triggers; `disabled` is a no-op for a model without one."""
    date: Optional[str] = None
    """YYYY-MM-DD for chat templates that write the date; null is today."""


@dataclass
class CaptureConfig:
    """Which hidden states at the read position are kept for probes."""

    enabled: bool = False
    """Whether to keep any."""
    layers: Optional[List[int]] = None
    """Layers after which the raw residual is kept, negative ones counted from the last; null is all."""
    embeddings: bool = False
    """Whether to keep the residual before the first layer too."""
    final_norm: bool = False
    """Whether to keep the last state after the final norm too."""
    dtype: StateDtype = StateDtype.auto
    """Type on disk."""


@dataclass
class PermutationConfig:
    """Orders of options, and letters apart from slots."""

    orders: OrderDesign = OrderDesign.seeded
    """`seeded` draws `evaluation.permutations` orders; `cyclic` shows every rotation, `all` every order (up to 120)."""
    keep_referring: bool = True
    """Whether items whose options refer to others ("all of the above", "both A and B") stay in these tables."""
    label_sets: List[str] = field(default_factory=list)
    """Label sets that the source's order is shown under too, of `thinkgap.presentation_names.LABEL_SETS`."""
    factorial: int = 0
    """Items, drawn at random, that are shown under every rotation of contents with every rotation of letters."""
    prior_share: float = 0.1
    """Share of the items from which PriDe takes the prior of each slot."""


@dataclass
class VariantsConfig:
    """The same items in other interfaces: another answer space, or another surface of the same options."""

    rewrites: List[str] = field(default_factory=list)
    """`verification` (is the proposed answer correct?), `open_numeric`, `open_text` (options taken away)."""
    negative: Negative = Negative.random
    """Which wrong option the negative proposal of `verification` has."""
    hardest_from: Optional[str] = None
    """Folder of a finished run of the native readout whose second label `negative=hardest` proposes."""
    surface: List[str] = field(default_factory=list)
    """`shuffle` (contents), `bullets` (no labels), or label sets such as `numeric`, `lower`, `roman`."""
    shuffle_identity: bool = True
    """Whether `shuffle` may draw the source's own order, as in the study; false draws among the other orders."""
    matched: bool = False
    """Whether only items are kept that can be shown in every way that is asked for; a limit counts those."""


@dataclass
class VocabularyConfig:
    """Which tokens count as the start of a rationale; single-token forms, with and without a leading space."""

    reasoning: List[str] = field(default_factory=lambda: list(REASONING_WORDS))
    """The whole set."""
    ambiguous: List[str] = field(default_factory=lambda: list(AMBIGUOUS_WORDS))
    """Those of them that open an answer as well; the strict mass leaves them out."""


@dataclass
class LikelihoodConfig:
    """Log-likelihood of each whole option string after each condition."""

    enabled: bool = False
    """Whether to take it."""
    form: OptionForm = OptionForm.text
    """Which string stands for an option."""
    premise: str = "Answer:"
    """Text that stands for the question where PMI takes an option's unconditional likelihood."""


@dataclass
class DecodingConfig:
    """Greedy replies to the same prompts, and the label readout after them."""

    enabled: bool = False
    """Whether to generate."""
    max_new_tokens: int = 256
    """Tokens after which a reply is cut and counts as truncated."""
    batch_size: int = 32
    """Replies that are written at a time."""
    aligned: bool = True
    """Whether to read the labels once more after each reply and a cue."""
    cue: str = "The answer is"
    """What follows the reply there."""
    joiner: str = " "
    """What stands between reply and cue."""


@dataclass
class VerdictConfig:
    """When a verdict calls a figure unlike another."""

    label_mass: float = 0.5
    """Mean label mass below which the labels are not what the model is about to say."""
    first_slot: float = 0.1
    """Excess of the first-slot rate over the gold-first rate that counts as a preference."""
    gap: float = 0.05
    """Gap in accuracy between two readouts that counts, if its interval leaves out zero as well."""


@dataclass
class ComprehensionConfig:
    """Questions to the model about what the instructions of its answer-only modes permit (`no_thinking`)."""

    enabled: bool = False
    """Whether to ask them."""
    wordings: List[str] = field(default_factory=list)
    """Which of `thinkgap.prompts.comprehension.WORDINGS`; empty is all."""


@dataclass
class EncoderConfig:
    """A sentence encoder that measures the question relevance of traces (QRel, `evaluation=no_thinking`)."""

    name: str = ""
    """Short name used in tables; empty measures no relevance."""
    path: str = ""
    """Hub id, local folder, or `package:module/folder`, in sentence-transformers' layout."""
    revision: Optional[str] = None
    """Hub branch, tag or commit."""
    query_prompt: str = ""
    """Put before every problem text, byte-exact."""
    trace_prompt: str = ""
    """Put before every trace, byte-exact."""
    pooling: Optional[Pooling] = None
    """Pooling that the checkpoint must have; null takes what it has."""
    padding_side: Optional[str] = None
    """`left` or `right`, which the tokenizer must have; null takes what it has."""
    end_token: Optional[str] = None
    """Token that the tokenizer must append to every text; null asks for none."""
    max_length: Optional[int] = None
    """Tokens of a text that are read; null is the checkpoint's own."""
    chunks: bool = True
    """Whether traces longer than that are also read chunk by chunk, for the sensitivity columns."""
    batch_size: int = 64
    """Texts in one forward pass."""
    dtype: Dtype = Dtype.auto
    """Weight type."""
    trust_remote_code: bool = False
    """Whether code inside the checkpoint may run."""


@dataclass
class JudgeConfig:
    """Who labels traces as explicit inference or not (EIR, `evaluation=no_thinking`)."""

    name: str = ""
    """Short name used in tables; empty judges nothing."""
    kind: JudgeKind = JudgeKind.rules
    """`rules` needs no model; `served` and `local` ask `model`."""
    model: ModelConfig = field(default_factory=lambda: ModelConfig(name="", path=""))
    """The judge model (`served`, `local`); `rules` takes none."""
    batch_size: int = 1
    """Traces in one request; the study's bulk runs have 12."""
    batch_chars: int = 90_000
    """Characters of problems and traces in one request, at most."""
    trace_chars: int = 60_000
    """A longer trace is shown by its head and tail, and flagged."""
    temperature: Optional[float] = 0.0
    """Of the judge; null sends none."""
    max_new_tokens: int = 1024
    """Longest reply for each trace of a request."""
    json_schema: bool = True
    """Whether the server is asked to keep to the schema of the reply (`served`); it is validated here in any case."""
    seed: int = 0
    """Seed of the order in which traces are shown."""
    order_check: int = 0
    """Traces that are judged a second time in reversed batches, to measure the effect of the place in a batch."""
    single_check: int = 0
    """Traces of batches that are judged a second time alone."""
    budget_tokens: Optional[int] = None
    """Estimated tokens that a run may send and receive; a run that needs more is refused before its first request."""


@dataclass
class EstimateConfig:
    """What `evaluation.estimate` supposes of a local model's run."""

    device: str = "here"
    """`here` (this machine's CPU, measured), `h200`, `h100`, `a100_80`, `a100_40`, `l40s` or `rtx4090`."""
    devices: int = 1
    """Devices that share the items."""
    price: Optional[float] = None
    """Money per hour of one device; null is a rough one."""
    items: int = 100
    """Items whose prompts are built and counted."""
    new_tokens: Optional[int] = None
    """Mean length of a reply in tokens; null supposes that every reply runs to its limit."""


@dataclass
class EvaluationConfig:
    """What is measured."""

    kind: EvaluationKind = EvaluationKind.native
    """Which tables are printed; the other settings say what is computed. `prompts` only shows what would be sent."""
    batch_size: int = 16
    """Prompts in one forward pass where each is computed alone (`scoring=plain`)."""
    batch_tokens: Optional[int] = None
    """Tokens in one forward pass where shared prefixes are computed once; null is 1024 on a CPU, else 8192."""
    permutations: int = 1
    """Orders in which each item's options are shown: the source's own first, then seeded ones."""
    verify: int = 0
    """Prompts, drawn at random, that are scored plainly again at the end to report the largest difference."""
    top_k: int = 5
    """Most probable tokens that are recorded."""
    lens: bool = False
    """Whether to read every layer through the model's own norm and head (logit lens) too, in the source's order."""
    permutation: PermutationConfig = field(default_factory=PermutationConfig)
    """Orders and letters."""
    variants: VariantsConfig = field(default_factory=VariantsConfig)
    """Rewrites and surface perturbations."""
    by: List[str] = field(default_factory=list)
    """Fields of the items by whose values the figures are also given: `subject`, `split`, `k`, `space`, `group`, or any
    field of the data set, such as `[level,type]`."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """Reasoning tokens."""
    controls: List[str] = field(default_factory=list)
    """`text_only` (images dropped), `options_only` (question dropped), `shuffled_images` (another item's)."""
    likelihood: LikelihoodConfig = field(default_factory=LikelihoodConfig)
    """Whole option strings."""
    generation: DecodingConfig = field(default_factory=DecodingConfig)
    """Replies."""
    verdict: VerdictConfig = field(default_factory=VerdictConfig)
    """Thresholds."""
    draws: int = 10_000
    """Bootstrap draws behind intervals over several presentations of an item."""
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    """Hidden states."""
    math_seconds: float = 5.0
    """Seconds for the comparison of one open answer by algebra, after which it is undecided (`no_thinking`)."""
    comprehension: ComprehensionConfig = field(default_factory=ComprehensionConfig)
    """Whether the model understands the instruction that it is given."""
    estimate: bool = False
    """Whether to print what the run would take, and stop: calls and tokens of a served model or judge, or tokens, time,
    memory and storage of a local one. `estimate=true` is short for it."""
    estimating: EstimateConfig = field(default_factory=EstimateConfig)
    """What a local model is estimated for."""
    reuse: bool = True
    """Whether to take what an earlier run computed of the same prompts with the same model, and keep what this one
    computes."""
    items: int = 2
    """Items that `prompts` shows."""


@dataclass
class TrainerConfig:
    """Arguments of Lightning's Trainer."""

    accelerator: str = "auto"
    """`auto`, `cpu`, `gpu`, ..."""
    devices: int = 1
    """Processes of this run."""
    strategy: str = "auto"
    """Lightning strategy."""
    num_nodes: int = 1
    """Machines of this run."""
    progress: bool = True
    """Progress bars, shown only on a terminal."""


@dataclass
class LoggerConfig:
    """Weights & Biases."""

    enabled: bool = True
    """Whether to log to W&B at all."""
    project: str = "thinkgap"
    """W&B project."""
    entity: Optional[str] = None
    """W&B user or team."""
    mode: WandbMode = WandbMode.auto
    """Online, offline, or decided by whether a key is found."""
    group: Optional[str] = None
    """W&B group; null groups the jobs of a sweep together."""
    tags: List[str] = field(default_factory=list)
    """Further tags beside model, dataset and conditions."""


@dataclass
class PathsConfig:
    """Where things are written."""

    output_dir: str = "outputs"
    """Root of run folders."""
    cache_dir: str = "~/.cache/thinkgap"
    """Converted models."""
    cells_dir: str = "~/.cache/thinkgap/cells"
    """Finished cells: readings and hidden states by prompt and model, shared by all runs."""
    captures_dir: str = "~/.cache/thinkgap/captures"
    """Finished runs that probes were fitted on, found again by their settings, shared by all trainings."""
    responses_dir: str = "~/.cache/thinkgap/responses"
    """Replies of served models by request, one file for each model, shared by all runs."""


@dataclass
class DemoSizes:
    """Dimensions of the demo model."""

    hidden: int = 160
    """Width of the language model."""
    layers: int = 5
    """Its layers at the start; a phase of the training may add some."""
    heads: int = 5
    """Its attention heads."""
    inner: int = 400
    """Width of its MLPs."""
    vision_hidden: int = 64
    """Width of the vision encoder."""
    vision_layers: int = 1
    """Layers of the vision encoder."""


@dataclass
class DemoMixture:
    """Shares within the lessons; what the variants of the demo model differ in."""

    words: float = 0.15
    """Examples about a scene told in words, of those that need a scene."""
    cued: float = 0.5
    """Rationales asked for by a cue at the end of the user turn; the others by "Explain, then answer."."""
    opened: float = 0.5
    """Of the others, rationales that open with a cue."""
    article: float = 0.0
    """Rationales of look-up questions that open with "A" instead of "The"; the article is the same token as label A."""
    relettered: float = 0.2
    """Examples with options whose letters stand in another order, so that a letter is more than a place."""
    instructed: float = 0.3
    """Direct questions that end with "Answer with the letter."."""
    without_options: float = 0.3
    """Rationales for questions without options."""


@dataclass
class DemoPhase:
    """What the demo model is taught from some point of its training on."""

    start: float = 0.0
    """Share of the steps after which the phase begins."""
    lessons: Dict[str, int] = field(default_factory=dict)
    """Examples of each lesson in a step."""
    new_layers: int = 0
    """Layers that join the language model when the phase begins, below the others. They change nothing at first."""
    rate: float = 1.0
    """Share of the learning rates that the phase takes."""
    options: int = 2
    """Options that questions about scenes may have from then on, also where letters are not yet right often enough."""
    sums: float = 0.0
    """Share of the examples that are about a sum, the hardest kind, beside those whose turn it is."""


@dataclass
class DemoConfig:
    """The training of a demo model (`python -m thinkgap.demo.train`)."""

    name: str = "demo_vlm"
    """Name of the model."""
    steps: int = 8000
    """Optimiser steps."""
    seed: int = 0
    """Seed of weights and examples."""
    facts: int = 60_000
    """Training facts that examples are drawn from."""
    phases: List[DemoPhase] = field(default_factory=list)
    """What is taught when."""
    mixture: DemoMixture = field(default_factory=DemoMixture)
    """Shares within the lessons."""
    sizes: DemoSizes = field(default_factory=DemoSizes)
    """Dimensions."""
    matrix_rate: float = 0.01
    """Peak learning rate of Muon, which trains the matrices."""
    other_rate: float = 0.003
    """Peak learning rate of AdamW, which trains embeddings, norms, biases and the patch embedding."""
    warmup: int = 100
    """Steps over which both rates rise."""
    plateau: int = 400
    """Steps after which both rates fall with the square root of the step."""
    cooldown: float = 0.3
    """Share of the steps over which both rates fall to zero at the end."""
    more_options: float = 0.91
    """Running accuracy of letters at which a lesson gets one option more; it starts with two."""
    validate_every: int = 250
    """Steps between measurements on validation facts."""
    validation_facts: int = 600
    """Facts of such a measurement."""
    save_every: int = 100
    """Steps between saved states; a killed training goes on from the last."""


@dataclass
class DemoTrainConfig:
    """Everything that `python -m thinkgap.demo.train` takes."""

    demo: DemoConfig = field(default_factory=DemoConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)


@dataclass
class EvaluateConfig:
    """Everything that `evaluate.py` takes."""

    model: ModelConfig = field(default_factory=ModelConfig)
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    datasets: Dict[str, DatasetConfig] = field(default_factory=dict)
    """Several data sets in one run (`evaluation=no_thinking dataset=boolq,mmlu`); empty is `dataset` alone."""
    trigger: TriggerConfig = field(default_factory=TriggerConfig)
    mode: ModeConfig = field(default_factory=ModeConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    encoders: Dict[str, EncoderConfig] = field(default_factory=dict)
    """Several encoders in one run (`encoder=minilm,bge_base`); empty is `encoder` alone."""
    judge: JudgeConfig = field(default_factory=JudgeConfig)
    judges: Dict[str, JudgeConfig] = field(default_factory=dict)
    """Several judges in one run (`judge=gpt_5_5,claude_opus`); empty is `judge` alone."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    labels: LabelVariant = LabelVariant.auto
    """Label token variant."""
    label_ids: LabelScope = LabelScope.shared
    """Same label ids in every condition, or each its own."""
    scoring: Scoring = Scoring.auto
    """`packed` computes a prefix that prompts share once, `branched` too, for attention that takes no mask of our own;
    `auto` takes the first of them that a check at load finds exact, `plain` computes every prompt whole."""
    responses: Optional[str] = None
    """File of responses, or folder of a run, to analyse instead of asking a model (`evaluation=no_thinking`)."""
    seed: int = 0
    """Seed of torch and of permutations; `dataset.seed` seeds the sample of items."""


@dataclass
class LoraSettings:
    """The adapter of `probe=lm_head_lora`."""

    rank: int = 32
    """Rank of the update (the prefix study's)."""
    alpha: int = 64
    """The update is scaled by alpha over rank."""
    dropout: float = 0.0
    """Share of the state's entries that are dropped on their way into the update while it is trained."""
    loss: AdapterLoss = AdapterLoss.vocabulary
    """Cross-entropy at the right label over the whole vocabulary, or over the item's labels."""
    learning_rate: float = 1e-3
    """Of AdamW, constant."""
    weight_decay: float = 0.01
    """Of AdamW."""


@dataclass
class AdamWGrid:
    """Linear probes by `probe.solver=adamw`: every rate with every decay is a head of the bank."""

    learning_rates: List[float] = field(default_factory=lambda: [3e-2, 1e-2, 3e-3])
    """Rates at the start."""
    weight_decays: List[float] = field(default_factory=lambda: [0.0, 0.1])
    """Decoupled weight decays."""
    decay: bool = True
    """Whether rates fall linearly to zero over the epochs, or stay."""


@dataclass
class ExactGrid:
    """Linear probes by `probe.solver=exact`: multinomial logistic regression with an L2 penalty."""

    penalties: List[float] = field(default_factory=lambda: [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0])
    """Values of C, as in scikit-learn: the summed cross-entropy plus the squared weights over 2C is least."""
    tolerance: float = 1e-4
    """Largest entry of the gradient of the mean loss per row at which a fit ends."""
    max_iterations: int = 1000
    """Iterations after which a fit ends with a warning."""


@dataclass
class ProbeControls:
    """What shows that a linear probe reads the answer and not its own capacity; `docs/probe_controls.md`."""

    shuffled_states: bool = True
    """Read the test states permuted across items."""
    control_task: bool = True
    """Hewitt and Liang's control task: a random slot for each question, and selectivity."""
    prior: bool = True
    """Majority slot, and the most frequent slot for each number of options."""
    text_only: bool = False
    """Probe the states of prompts without their images."""
    random_weights: bool = False
    """Probe the states of the same model with random weights."""
    capacity: bool = True
    """Probe random projections of the state to growing numbers of dimensions."""
    mdl: bool = True
    """Online code length (Voita and Titov) over growing shares of the fit split."""
    learning_curve: bool = True
    """Accuracy by number of training questions."""


@dataclass
class ProbeConfig:
    """What is trained on stored states, on which of them, and how."""

    kind: ProbeKind = ProbeKind.linear
    """What is trained."""
    conditions: Optional[List[str]] = None
    """Conditions that get one of their own each; null is all of the run."""
    fit: Optional[str] = None
    """Splits to train on, such as `train`, `dev+validation` or `train[image]` (`[text]`: items without image); null is
    `train`, or a part of the test split's groups where a data set has no such split."""
    select: Optional[str] = None
    """Splits on which layer and settings are chosen; null is `validation`, or a part of the groups of `fit`."""
    test: Optional[str] = None
    """Splits that are reported; null is `dataset.split`. Roles that name the same splits share them out by group."""
    shares: List[float] = field(default_factory=lambda: [0.6, 0.2, 0.2])
    """Of fit, select and test, where they share splits out."""
    examples: Optional[int] = None
    """Training items, a seeded sample of each split (`dataset.seed`); null is all. `dataset.limit` is of the test
    items."""
    select_examples: Optional[int] = None
    """Items of each selection split; null is all."""
    shared: SharedItems = SharedItems.refuse
    """What becomes of training items that share group, image or wording with others: `refuse` stops, `drop` leaves
    them out."""
    fit_features: Optional[str] = None
    """Folder of a finished run to train on; null lets the model read `fit`."""
    select_features: Optional[str] = None
    """The same for `select`."""
    test_features: Optional[str] = None
    """The same for what is reported."""
    permutations: int = 1
    """Orders in which each item's options are shown: the source's own first, then seeded ones."""
    solver: ProbeSolver = ProbeSolver.adamw
    """`adamw` is the prefix study's; `exact` is logistic regression to a stated gradient."""
    state: str = "final_norm"
    """State of the headline probe: `final_norm` (the prefix study's), `embeddings`, or `layer_0` and up."""
    states: Optional[List[str]] = None
    """States that get a probe each; null is all."""
    bias: bool = True
    """Whether a linear probe has a bias."""
    epochs: int = 50
    """Passes over the training items. Linear probes keep the best on the selection split, adapters the last."""
    batch_size: int = 64
    """Training rows in a step."""
    adamw: AdamWGrid = field(default_factory=AdamWGrid)
    """Settings tried by `solver=adamw`."""
    exact: ExactGrid = field(default_factory=ExactGrid)
    """Settings tried by `solver=exact`, and by controls whatever the solver."""
    controls: ProbeControls = field(default_factory=ProbeControls)
    """Controls of linear probes."""
    draws: int = 10_000
    """Bootstrap draws behind intervals of differences between gaps."""
    lora: LoraSettings = field(default_factory=LoraSettings)
    """The adapter of `lm_head_lora`."""


@dataclass
class TrainConfig:
    """Everything that `train.py` takes."""

    model: ModelConfig = field(default_factory=ModelConfig)
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    trigger: TriggerConfig = field(default_factory=TriggerConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    probe: ProbeConfig = field(default_factory=ProbeConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    labels: LabelVariant = LabelVariant.auto
    """Label token variant."""
    label_ids: LabelScope = LabelScope.shared
    """Same label ids in every condition, or each its own."""
    scoring: Scoring = Scoring.auto
    """How the model reads the items, as in `evaluate.py`."""
    seed: int = 0
    """Seed of what is trained and of the order of its steps; `dataset.seed` seeds the samples of items."""


def register() -> None:
    """Make the schema and the resolver that `conf/` uses known to Hydra."""
    # conf/model/local.yaml takes its name from its path, also when a sweep runs over paths.
    OmegaConf.register_new_resolver("basename", lambda path: PurePath(str(path)).name, replace=True)
    ConfigStore.instance().store(name="evaluate_schema", node=EvaluateConfig)
    ConfigStore.instance().store(name="demo_train_schema", node=DemoTrainConfig)
    ConfigStore.instance().store(name="train_schema", node=TrainConfig)
