"""A `Presentation` under a `Condition` -> the text of the user turn and what opens the assistant turn.

The two studies assemble their prompts differently, and each stays as its study gives it: the prefix study
(arXiv 2609.29278) shows hint, question and lettered choices and stops there; the inertia study
(arXiv 2610.11765) prefixes fields with their names and ends in an answer-format line.
Knows no chat template and no tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass

from thinkgap.data.checks import PLACEHOLDER
from thinkgap.types import Condition, Placement, Presentation

# Answer-format lines of the inertia study, byte-exact: `boxed{}` first without, then with, its backslash.
ANSWER_FORMAT = {
    "mcq": r"Put only the final option label in boxed{}, e.g. \boxed{%s}.",
    "bool": r"Put only the final yes/no answer in boxed{}, e.g. \boxed{yes}.",
    "open": r"Put the final answer in boxed{}, e.g. \boxed{72}.",
}
# Ours: without labels there is none to put into the box.
UNLETTERED_FORMAT = r"Put only the final option text in boxed{}, e.g. \boxed{%s}."


@dataclass(frozen=True)
class Turns:
    """What is said: the user's text (with `<image n>` marks), and the opening of the assistant turn."""

    user: str
    prefill: str = ""


def assemble(presentation: Presentation, condition: Condition, instruction: str = "") -> Turns:
    """Text of both turns.

    Args:
        presentation: the item as shown.
        condition: trigger or mode.
        instruction: an extra line after the choices (`prompt.instruction`), prefix study only.
    """
    if condition.kind == "mode":
        return _asked(inertia_lines(presentation), presentation, condition)
    lines = prefix_lines(presentation) + ([instruction] if instruction else [])
    return _asked(lines, presentation, condition)


def assemble_premise(presentation: Presentation, condition: Condition, premise: str) -> Turns:
    """Text of both turns with `premise` in place of the item: what the condition adds stays, and nothing else.

    Args:
        presentation: the item; only a mode's answer-format line depends on it.
        condition: trigger or mode.
        premise: text that stands for context, question and options.
    """
    return _asked([premise], presentation, condition)


def option_lines(presentation: Presentation) -> list[str]:
    """`A. first content`, one line per slot; none for items that are not multiple-choice."""
    if presentation.item.answer_space != "mcq":
        return []
    if not presentation.lettered:
        return [f"- {content}" for content in presentation.contents]
    return [f"{label}. {content}" for label, content in zip(presentation.labels, presentation.contents, strict=True)]


def prefix_lines(presentation: Presentation) -> list[str]:
    """Lines of the prefix study's prompt: hint, question, choices (study A, protocol).

    A control may leave no question (`data.controls`); what is empty gets no line.
    """
    item = presentation.item
    return [text for text in (item.context, item.question) if text] + option_lines(presentation)


def inertia_lines(presentation: Presentation) -> list[str]:
    """Lines of the inertia study's single user message before what the mode adds (study B, prompt assembly).

    What is empty gets no line, as in `prefix_lines`.
    """
    item = presentation.item
    lines = [f"Context: {item.context}"] if item.context else []
    if item.question:
        lines.append(f"Question: {item.question}")
    options = option_lines(presentation)
    return [*lines, "Options:", *options] if options else lines


def _asked(lines: list[str], presentation: Presentation, condition: Condition) -> Turns:
    """Both turns of a condition around the lines of what is asked, joined by newlines."""
    if condition.kind == "mode":
        opening = [condition.soft_switch] if condition.soft_switch else []
        return Turns("\n".join([*opening, *lines, *mode_lines(presentation, condition)]), condition.prefill)
    if condition.placement is Placement.assistant:
        return Turns("\n".join(lines), condition.text)
    return Turns("\n".join([*lines, condition.text] if condition.text else lines))


def mode_lines(presentation: Presentation, condition: Condition) -> list[str]:
    """What a mode writes below the item: its instruction, if it has one, and the answer-format line."""
    instruction = [condition.text] if condition.text else []
    return [*instruction, answer_format(presentation, condition) + condition.user_suffix]


def answer_format(presentation: Presentation, condition: Condition) -> str:
    """The answer-format line; its example label is the item's first label, and can be left out.

    Without the example (`mode.format_example=false`, our ablation: a fixed example may anchor the first slot)
    the line ends in a full stop after `boxed{}`.
    """
    space = presentation.item.answer_space
    line = ANSWER_FORMAT[space] if presentation.lettered else UNLETTERED_FORMAT
    if space == "mcq":
        line = line % presentation.labels[0]
    return line if condition.format_example else line.partition(", e.g.")[0] + "."


def split_at_images(text: str, n_images: int) -> list[str | int]:
    """Text in reading order as pieces: strings, and 0-based image numbers where `<image n>` stood.

    Images that no mark names come first, in order. Without images the text is returned whole, marks and all.
    """
    if n_images == 0:
        return [text]
    pieces: list[str | int] = []
    named: set[int] = set()
    end = 0
    for match in PLACEHOLDER.finditer(text):
        number = int(match.group(1)) - 1
        if not 0 <= number < n_images:
            continue
        pieces += [text[end : match.start()], number]
        named.add(number)
        end = match.end()
    pieces.append(text[end:])
    unnamed: list[str | int] = [number for number in range(n_images) if number not in named]
    return unnamed + [piece for piece in pieces if piece != ""]
