"""What providers add to the texts of a request, in tokens, with the source and the day of each number.

Documented numbers were read at second hand, in stored copies of the providers' pages, on 2026-11-30.
Measured ones were fitted on that day to recorded requests with their billed usage, never to a single one,
and say to how many. Both age: the servers' own prompts have changed without notice before. Patterns stay
texts until a model is looked for, as compiling them takes longer than all else at import.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ctxkit.tokens.media import Patches, Tiles

# Claude ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaudeConstants:
    """The frames of one generation of Claude.

    Attributes:
        name: Tells the generation from others.
        models: A pattern for the family and the version of its models, such as `sonnet-4-5`.
        request: Once a request, with the priming of the answer.
        message: Each message.
        tool: Each tool definition, beside its JSON.
        tools_and_system: Once a request that has both tools and a system prompt.
        deferred_tools: Once a request that has tools which are loaded when they are searched for.
        named_tool: Once a request that demands one tool, beside the tool's name.
        call: Each call and its result, beside their texts; the tool's name stands in both.
        argument: Each argument of a call.
        parallel_call: Each call that follows another in the same message.
        failed: Each result that reports an error.
        thinking: Once a request that has thinking on, by its type.
        keeps_thinking: Whether thinking stays in the prompt when the user speaks again.
        image: Each image, beside its patches.
        image_edge: The longest edge of an image in pixels; larger images are scaled down.
        image_tokens: The most that one image takes.
        server_tools: What a tool of Anthropic's own adds, by the beginning of its type.
    """

    name: str
    models: str
    request: int
    message: int
    tool: int
    tools_and_system: int
    deferred_tools: int
    named_tool: int
    call: int
    argument: int
    parallel_call: int
    failed: int
    thinking: Mapping[str, int]
    keeps_thinking: bool
    image: int
    image_edge: int
    image_tokens: int
    server_tools: Mapping[str, int]


# Measured: frame, message and thinking on 173 requests without tools, of 21 models, 146 of them exact; tools
# on 241 requests with tools; calls on the 62 different ones among them that hold calls; dropped thinking on
# 13 requests of 5 models; the frame of an image on 9. Documented: the rest of images (`vision`), server tools
# (`tool-use`, an older list), and that Opus 4.5 was the first to keep thinking.
_THIRD = ClaudeConstants(
    name="claude-3",
    models=r"(?:[a-z]+-)?[1-3](?:-|$)|(?:sonnet|haiku)-4(?!-[789])|opus-4(?!-[5-9])",
    request=4,
    message=3,
    tool=6,
    tools_and_system=1,
    deferred_tools=0,
    named_tool=2,
    call=35,
    argument=17,
    parallel_call=20,
    failed=5,
    thinking={"enabled": 29, "adaptive": 17},
    keeps_thinking=False,
    image=3,
    image_edge=1_568,
    image_tokens=1_568,
    server_tools={"bash_": 245, "text_editor_": 700, "computer_": 735},
)
# Measured: frame and message on 9 requests, calls on 7 of Opus 4.8, Opus 5 and Sonnet 5; deferred tools on 6
# of Opus 5 and Sonnet 5; that no thinking is announced on 4. Documented: images. Parallel calls and tools are
# taken to be framed as before.
_FIFTH = replace(
    _THIRD,
    name="claude-5",
    models="",
    message=2,
    deferred_tools=94,
    call=24,
    argument=14,
    thinking={},
    keeps_thinking=True,
    image_edge=2_576,
    image_tokens=4_784,
)
# The first whose models match, so that a model yet unknown is taken to be like the newest.
CLAUDE: tuple[ClaudeConstants, ...] = (
    _THIRD,
    replace(_THIRD, name="claude-4.5", models=r"opus-4-[56]", keeps_thinking=True),
    # Its frame of 11 tokens is that of ctok 1.3.0; the rest is taken from the generation after it.
    replace(_FIFTH, name="claude-4.7", models=r"opus-4-7", request=9),
    _FIFTH,
)

# The system prompt that comes with tools: for a choice of `auto` or `none`, and of `any` or `tool`. The first
# beginning of a family and version counts.
# Documented: Anthropic's pages on tool use, current and of 2024. Measured: that Sonnet 3.7 has the prompt of
# Sonnet 4, on 4 requests, and that Haiku 4.5 and Sonnet 4.5 have the current one, on more than 100.
CLAUDE_TOOL_PROMPTS: Mapping[str, tuple[int, int]] = {
    "opus-5": (286, 406),
    "sonnet-5": (354, 474),
    "opus-4-8": (290, 410),
    "opus-4-7": (675, 804),
    "opus-4-6": (497, 589),
    "sonnet-4-6": (497, 589),
    "opus-4-5": (496, 588),
    "sonnet-4-5": (496, 588),
    "haiku-4-5": (496, 588),
    "opus-4": (313, 315),
    "sonnet-4": (313, 315),
    "sonnet-3-7": (313, 315),
    "sonnet-3-5-20240620": (294, 261),
    "sonnet-3-5": (346, 313),
    "haiku-3-5": (264, 355),
    "opus-3": (530, 281),
    "sonnet-3": (159, 235),
    "haiku-3": (264, 340),
    "": (354, 474),
}

# A page of a PDF is read as an image and as text. Documented: 1,500 to 3,000 tokens a page; 20 measured
# requests with nearly empty pages have 1,560 to 2,650.
CLAUDE_PAGE = 2_250
# One token for each square of so many pixels. Documented: `vision`.
CLAUDE_PATCH = 28


# OpenAI ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenAIConstants:
    """The frames of one generation of OpenAI's models.

    Attributes:
        name: Tells the generation from others.
        models: A pattern for the names of its models.
        request: Once a request: the priming of the answer.
        message: Each message, each call and each result; reasoning is no message.
        tool: Each tool definition, beside its TypeScript.
        named_message: Each message that has a `name`, beside the name.
        chat_tools: Once a request of the Chat API that has tools.
        chat_tools_alone: The same once more, where no system message holds the tools.
        responses_tools: Once a request of the Responses API that has tools.
        named_tool: Once a request that demands one tool, beside the tool's name.
        call: Each call, beside its name and arguments.
        result: Each result, beside its text.
        parallel_calls: Each message of the Chat API that holds several calls.
    """

    name: str
    models: str
    request: int
    message: int
    tool: int
    named_message: int
    chat_tools: int
    chat_tools_alone: int
    responses_tools: int
    named_tool: int | None
    call: int
    result: int
    parallel_calls: int


# Documented: three tokens a message and its role, one a name, three for the answer (`cookbook`). Measured on
# 454 requests without tools, 448 of them exact; tools on 183 requests, calls on 206.
_GPT_4 = OpenAIConstants(
    name="gpt-4",
    models=r"gpt-(?:3|4)",
    request=3,
    message=4,
    tool=-1,
    named_message=1,
    chat_tools=13,
    chat_tools_alone=3,
    responses_tools=10,
    named_tool=6,
    call=4,
    result=4,
    parallel_calls=12,
)
# Measured on 125 requests without tools, 104 of them exact; tools on 89 requests, calls on 44.
_REASONING = replace(
    _GPT_4,
    name="o-series",
    models=r"(?<![a-z])o[134](?![a-z0-9])",
    request=2,
    chat_tools=16,
    chat_tools_alone=0,
    responses_tools=13,
    named_tool=None,
)
_GPT_5 = replace(
    _REASONING,
    name="gpt-5",
    models="",
    chat_tools=98,
    responses_tools=16,
    call=6,
    result=6,
    parallel_calls=5,
)
# The first whose models match, so that a model yet unknown is taken to be like the newest.
OPENAI: tuple[OpenAIConstants, ...] = (_GPT_4, _REASONING, _GPT_5)


# Documented: the guide to images and vision.
_TILES = Tiles(base=85, tile=170, edge=512, longest=2_048, shortest=768)
_PATCHES = Patches(factor=1.2, budget=1_536, unknown=1_536, edge=32, low_detail_edge=512)

# Where nothing is known of a model, its images are taken to be like those of GPT-5.5.
UNKNOWN_IMAGES = replace(_PATCHES, budget=2_500, unknown=2_500)
# The first that matches a model's name. Documented, but for the factors of gpt-5-mini and gpt-5-nano, which
# are measured on 6 and 4 requests. GPT-5.6 and later scale nothing down, so that an image of unknown size has
# no upper end: the budget of GPT-5.5 is taken for it.
OPENAI_IMAGES: tuple[tuple[str, Tiles | Patches], ...] = (
    (r"4o-mini", replace(_TILES, base=2_833, tile=5_667)),
    (r"gpt-4\.1-mini|gpt-5\.\d+-mini", replace(_PATCHES, factor=1.62)),
    (r"gpt-4\.1-nano|gpt-5\.\d+-nano", replace(_PATCHES, factor=2.46)),
    (r"gpt-5-mini", _PATCHES),
    (r"gpt-5-nano", replace(_PATCHES, factor=1.5)),
    (r"o4-mini", replace(_PATCHES, factor=1.72)),
    (r"computer-use", replace(_TILES, base=65, tile=129)),
    (r"(?<![a-z])o[13](?![a-z0-9])", replace(_TILES, base=75, tile=150)),
    (r"gpt-4", _TILES),
    (r"gpt-5(?![.\d])", replace(_TILES, base=70, tile=140)),
    (r"gpt-5\.1", replace(_TILES, base=70, tile=140)),
    (r"gpt-5\.(?:2|3-codex)", _PATCHES),
    (r"gpt-5\.[345]", UNKNOWN_IMAGES),
    ("", replace(UNKNOWN_IMAGES, budget=math.inf)),
)
# A page of a PDF, as text and as an image: measured on 20 requests, from 45 to 760 tokens.
OPENAI_PAGE = 760


# Gemini ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GeminiConstants:
    """The frames of one generation of Gemini.

    Attributes:
        name: Tells the generation from others.
        models: A pattern for the names of its models.
        tool_weight: Tokens of a tool definition for each token of its JSON.
        call: Each call and its result, beside their texts.
        signature_chars: Characters of a call's thought signature for each token; 0 where it is left out.
        image: An image, or a tile of one where images are cut into tiles.
        tile_edge: The edge of a tile in pixels; 0 where images are not cut.
        page: A page of a PDF.
    """

    name: str
    models: str
    tool_weight: float
    call: int
    signature_chars: float
    image: int
    tile_edge: int
    page: int


# Measured: that no message has a frame on 60 requests; tools of the three generations on 9, 21 and 10
# requests; calls on 10, 50 and 16; signatures on 14 of the third generation, 232 to 12,732 characters long.
# Documented: images and pages ("media resolution", 1,120 and 560 for the third generation).
GEMINI: tuple[GeminiConstants, ...] = (
    GeminiConstants("gemini-2.0", r"gemini-(?:1|2\.0)", 0.45, 4, 0, 258, 768, 258),
    GeminiConstants("gemini-2.5", r"gemini-2", 1.0, 22, 0, 258, 768, 258),
    GeminiConstants("gemini-3", "", 1.0, 22, 4.7, 1_120, 0, 560),
)
# Measured, on 8 first requests and 12 with calls, through the routers that speak OpenAI's wire.
ROUTED_GEMINI = replace(GEMINI[0], name="gemini-routed", tool_weight=0.28, call=4)


# All ---------------------------------------------------------------------------------------------------

# Tokens for a second of sound, and of film. Documented for Gemini, and taken for others.
AUDIO_SECOND = 32
VIDEO_SECOND = 263
# What a medium of unknown length is taken to last; and bytes of a second of sound, as in an MP3 file of
# 128 kbit/s, which one measured request has as well.
UNKNOWN_SECONDS = 10
AUDIO_SECOND_BYTES = 16_000
# A document of text, by its bytes: what English has for a token.
TEXT_TOKEN_BYTES = 4
