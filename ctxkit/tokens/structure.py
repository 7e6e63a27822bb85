"""What a request costs besides its texts: how each provider counts blocks, messages and a whole request.

A structure is pure. It takes texts to a counter that it is given, and its numbers from `constants`; what
counts once is kept in `blocks`, and what a request adds up to in `shape`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ctxkit.messages import Block, Turn
from ctxkit.tokens import constants
from ctxkit.tokens.constants import ClaudeConstants, GeminiConstants, OpenAIConstants
from ctxkit.tokens.media import (
    Medium,
    Patches,
    Size,
    Tiles,
    byte_count,
    grid,
    image_size,
    media_of,
    page_count,
    within,
)
from ctxkit.tokens.rendering import argument_texts, as_json, as_typescript, definition_of
from ctxkit.wire.native import parsed_input
from ctxkit.wire.usage_fields import mapping

Key = tuple[str, str | None]
Count = Callable[[str], int]

# Where what belongs to no block is counted: what comes with tools, and all other frames.
TOOLS: Key = ("tool_definition", None)
FRAME: Key = ("system", None)


class Structure:
    """How a request is put together for a model of which nothing is known.

    Attributes:
        name: Tells structures that count differently from each other.
        drops_thinking: Whether thinking is left out of the prompt once the user speaks again.
    """

    name = "plain"
    drops_thinking = True
    message = 4
    page = constants.OPENAI_PAGE

    def texts(self, block: Block) -> Iterator[str]:
        """The texts that a model reads for a block, to be counted one by one."""
        yield block.text

    def weight(self, block: Block) -> float:
        """What the count of a block's texts is multiplied by."""
        return 1.0

    def frame(self, block: Block) -> int:
        """What stands around the texts of a block."""
        return 0

    def beside(self, block: Block) -> int:
        """The tokens of a block that no text of it stands for: its frame and its media."""
        return self.frame(block) + sum(map(self.medium, media_of(block)))

    def tokens(self, block: Block, count: Count) -> int:
        """The tokens of a block; one that is nested too deeply to be rendered counts as its JSON."""
        try:
            said = sum(map(count, self.texts(block)))
        except RecursionError:
            said = count(block.text)
        return round(said * self.weight(block)) + self.beside(block)

    def turn(self, turn: Turn, count: Count) -> int:
        """What a message costs besides its blocks."""
        return self.message

    def head(self, head: Turn) -> Iterator[tuple[Key, int]]:
        """What a request costs besides its blocks and messages, as far as its head tells."""
        return iter(())

    def request(
        self, body: Mapping[str, Any], numbers: Mapping[str, int], count: Count
    ) -> Iterator[tuple[Key, int]]:
        """What other settings of a request add to that, or take from it.

        Args:
            body: The provider's JSON.
            numbers: How many blocks of each kind the request has.
            count: Counts a text.
        """
        return iter(())

    def medium(self, medium: Medium) -> int:
        """The tokens of an image, a document, a sound or a film."""
        if medium.kind == "image":
            return self.image(image_size(medium), medium.detail)
        if medium.kind == "document":
            return self._document(medium)
        if medium.kind == "video":
            return constants.VIDEO_SECOND * constants.UNKNOWN_SECONDS
        seconds = byte_count(medium) / constants.AUDIO_SECOND_BYTES or constants.UNKNOWN_SECONDS
        return math.ceil(constants.AUDIO_SECOND * seconds)

    def image(self, size: Size | None, detail: str) -> int:
        """The tokens of an image; the most that one takes where its size is not known."""
        return constants.UNKNOWN_IMAGES.tokens(size, detail)

    def _document(self, medium: Medium) -> int:
        if medium.media_type.startswith("text/") and medium.data:
            return math.ceil(byte_count(medium) / constants.TEXT_TOKEN_BYTES)
        return self.page * (page_count(medium) or 1)


class Claude(Structure):
    """Claude reads tools as JSON behind a system prompt of Anthropic's own."""

    page = constants.CLAUDE_PAGE

    def __init__(self, frames: ClaudeConstants, tool_prompt: tuple[int, int]) -> None:
        self._frames = frames
        self._auto, self._forced = tool_prompt
        self.name = f"{frames.name}/{self._auto}"
        self.drops_thinking = not frames.keeps_thinking
        self.message = frames.message

    def texts(self, block: Block) -> Iterator[str]:
        """A definition as JSON, a call as the names and values of its arguments."""
        if block.kind == "tool_definition":
            if not is_deferred(block) and not self._server_tool(block):
                definition = definition_of(block.native)
                yield block.text if definition is None else as_json(definition)
        elif block.kind == "tool_call":
            name, arguments = _called(block)
            yield from (name, name)
            yield from argument_texts(arguments) if isinstance(arguments, Mapping) else (arguments,)
        else:
            yield block.text

    def frame(self, block: Block) -> int:
        """What a definition, a call with its result, and a failure have around them."""
        if block.kind == "tool_definition":
            return 0 if is_deferred(block) else self._server_tool(block) + self._frames.tool
        if block.kind == "tool_call":
            _, arguments = _called(block)
            count = len(arguments) if isinstance(arguments, Mapping) else 1
            return self._frames.call + self._frames.argument * count
        return self._frames.failed if block.is_error else 0

    def turn(self, turn: Turn, count: Count) -> int:
        """The message's own frame, and that of calls beside each other."""
        return self.message + self._frames.parallel_call * max(0, _calls(turn) - 1)

    def head(self, head: Turn) -> Iterator[tuple[Key, int]]:
        """The frame of a request, and the system prompt that comes with tools."""
        yield FRAME, self._frames.request
        tools = [block for block in head.blocks if block.kind == "tool_definition"]
        if not all(map(is_deferred, tools)):
            yield TOOLS, self._auto
        if any(map(is_deferred, tools)):
            yield TOOLS, self._frames.deferred_tools

    def request(
        self, body: Mapping[str, Any], numbers: Mapping[str, int], count: Count
    ) -> Iterator[tuple[Key, int]]:
        """What thinking adds, and what a choice of tools changes."""
        yield FRAME, self._frames.thinking.get(_thinking(body), 0)
        if numbers.get("tool_definition"):
            choice, name = _choice(body)
            yield TOOLS, self._frames.tools_and_system if numbers.get("system") else 0
            yield TOOLS, self._forced - self._auto if choice in ("any", "tool") else 0
            yield TOOLS, self._frames.named_tool + count(name) if name else 0

    def image(self, size: Size | None, detail: str) -> int:
        """A token for each patch, after scaling down to the longest edge and to the most tokens."""
        most = self._frames.image_tokens
        if size is None:
            return self._frames.image + most
        edge, patch = self._frames.image_edge, constants.CLAUDE_PATCH
        while (tokens := grid(within(size, edge), patch)) > most:
            edge -= patch
        return self._frames.image + tokens

    def _server_tool(self, block: Block) -> int:
        """What one of Anthropic's own tools adds; 0 for others, and for those of which nothing is known."""
        kind = str(mapping(block.native).get("type"))
        return next((cost for start, cost in self._frames.server_tools.items() if kind.startswith(start)), 0)


class OpenAI(Structure):
    """OpenAI's models read tools as TypeScript, and every message in a frame of its own."""

    def __init__(self, frames: OpenAIConstants, images: Tiles | Patches, *, responses: bool) -> None:
        self._frames = frames
        self._images = images
        self._responses = responses
        self.name = f"{frames.name}/{'responses' if responses else 'chat'}/{images}"
        self.message = frames.message

    def texts(self, block: Block) -> Iterator[str]:
        """A definition as TypeScript, a call as its name and its arguments."""
        if block.kind == "tool_definition":
            yield from self._definitions(block)
        elif block.kind == "tool_call":
            name, _, arguments = block.text.partition(" ")
            yield from (name, arguments)
        else:
            yield block.text

    def frame(self, block: Block) -> int:
        """What a definition, a call and a result have around them, and tools that are added later."""
        if mapping(block.native).get("type") == "additional_tools":
            return self._frames.chat_tools
        frames = {
            "tool_definition": self._frames.tool,
            "tool_call": self._frames.call,
            "tool_result": self._frames.result,
        }
        return frames.get(block.kind, 0)

    def turn(self, turn: Turn, count: Count) -> int:
        """The frame of a message, its author's name, and what joins calls beside each other."""
        if turn.role == "reasoning":
            return 0
        name = turn.native.get("name") if turn.role in ("system", "developer", "user", "assistant") else None
        named = self._frames.named_message + count(name) if isinstance(name, str) else 0
        return self.message + named + (self._frames.parallel_calls if _calls(turn) > 1 else 0)

    def head(self, head: Turn) -> Iterator[tuple[Key, int]]:
        """The priming of the answer, the frame of instructions, and what stands around tools."""
        yield FRAME, self._frames.request
        if any(block.kind == "system" for block in head.blocks):
            yield FRAME, self.message
        if any(block.kind == "tool_definition" for block in head.blocks):
            yield TOOLS, self._frames.responses_tools if self._responses else self._frames.chat_tools

    def request(
        self, body: Mapping[str, Any], numbers: Mapping[str, int], count: Count
    ) -> Iterator[tuple[Key, int]]:
        """What tools add without a system message, and a tool that is demanded."""
        if numbers.get("tool_definition"):
            _, name = _choice(body)
            alone = not self._responses and not numbers.get("system")
            yield TOOLS, self._frames.chat_tools_alone if alone else 0
            if name and self._frames.named_tool is not None:
                yield TOOLS, self._frames.named_tool + count(name)

    def image(self, size: Size | None, detail: str) -> int:
        """Tiles or patches, as the model has it."""
        return self._images.tokens(size, detail)

    def _definitions(self, block: Block) -> Iterator[str]:
        listed = mapping(block.native).get("tools")
        for native in listed if isinstance(listed, list) else (block.native,):
            definition = definition_of(native)
            yield block.text if definition is None else as_typescript(definition)


class Gemini(Structure):
    """Gemini's messages have no frames, and its tools weigh less or more than their JSON."""

    message = 0

    def __init__(self, frames: GeminiConstants) -> None:
        self._frames = frames
        self.name = frames.name
        self.page = frames.page

    def weight(self, block: Block) -> float:
        """What a token of a definition's JSON counts for."""
        return self._frames.tool_weight if block.kind == "tool_definition" else 1.0

    def frame(self, block: Block) -> int:
        """What stands around a call and its result, and the signed thought before it."""
        if block.kind != "tool_call":
            return 0
        native = mapping(block.native)
        signature = native.get("thoughtSignature", native.get("thought_signature"))
        if not isinstance(signature, str) or not self._frames.signature_chars:
            return self._frames.call
        return self._frames.call + round(len(signature) / self._frames.signature_chars)

    def image(self, size: Size | None, detail: str) -> int:
        """The same for every image, or for every tile of it."""
        edge = self._frames.tile_edge
        return self._frames.image * (grid(size, edge) if edge and size is not None else 1)


@lru_cache(maxsize=1_024)
def structure_for(model: str | None, wire: str | None) -> Structure:
    """How a model's requests are put together.

    Args:
        model: Its name, also as a router or a cloud spells it; `None` where it is unknown.
        wire: The name of the request's wire; `None` where that is unknown.

    Returns:
        What is known of the model's family, which its name tells, or else a wire that only one family has.
    """
    name = (model or "").lower()
    if "claude" in name or (wire == "anthropic_messages" and not re.search(_FAMILIES, name)):
        short = _claude_name(name)
        frames = next(one for one in constants.CLAUDE if re.match(one.models, short))
        prompts = constants.CLAUDE_TOOL_PROMPTS.items()
        return Claude(frames, next(prompt for start, prompt in prompts if short.startswith(start)))
    if wire == "gemini":
        return Gemini(next(one for one in constants.GEMINI if re.search(one.models, name)))
    if "gemini" in name:
        return Gemini(constants.ROUTED_GEMINI)
    if re.search(_OPENAI, name):
        generation = next(one for one in constants.OPENAI if re.search(one.models, name))
        images = next(images for models, images in constants.OPENAI_IMAGES if re.search(models, name))
        return OpenAI(generation, images, responses=wire == "openai_responses")
    return Structure()


_OPENAI = r"(?<![a-z])(?:chatgpt|gpt-\d|o\d(?![a-z0-9])|codex|computer-use)"
_FAMILIES = rf"gemini|{_OPENAI}"
_CLAUDE_FAMILY = r"claude.*?(opus|sonnet|haiku|instant|fable|mythos)"
_CLAUDE_VERSION = r"claude\D*?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
_CLAUDE_DATE = r"claude.*?(20\d{6})"


def is_deferred(block: Block) -> bool:
    """Whether a tool is only loaded when the model searches for it, and no part of the prompt until then."""
    return mapping(block.native).get("defer_loading") is True


def _claude_name(name: str) -> str:
    """Family, version and date of a Claude model, such as `sonnet-4-5-20250929`, in whatever order."""
    patterns = (_CLAUDE_FAMILY, _CLAUDE_VERSION, _CLAUDE_DATE)
    parts = [found for pattern in patterns if (found := re.search(pattern, name))]
    return "-".join(part for found in parts for part in found.groups() if part)


def _called(block: Block) -> tuple[str, Mapping[str, Any] | str]:
    """The name and the arguments of a call; arguments that are no object as the text that they are."""
    name, _, spelled = block.text.partition(" ")
    return name, parsed_input(spelled) or ({} if spelled in ("", "{}") else spelled)


def _calls(turn: Turn) -> int:
    return sum(block.kind == "tool_call" for block in turn.blocks)


def _thinking(body: Mapping[str, Any]) -> str:
    settings = body.get("thinking", mapping(body.get("additionalModelRequestFields")).get("thinking"))
    return str(mapping(settings).get("type"))


def _choice(body: Mapping[str, Any]) -> tuple[str, str]:
    """Which tools the model may choose, in Anthropic's words, and the name of the one it must use."""
    choice = body.get("tool_choice", mapping(body.get("toolConfig")).get("toolChoice"))
    if not isinstance(choice, Mapping):
        return "any" if choice == "required" else "auto", ""
    named = next(
        (choice[key] for key in ("function", "tool") if isinstance(choice.get(key), Mapping)), choice
    )
    name = named.get("name")
    if isinstance(name, str):
        return "tool", name
    return "any" if "any" in (*choice, *choice.values()) else "auto", ""
