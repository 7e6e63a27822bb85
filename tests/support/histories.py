"""Random histories in all four wires, put together from pieces that fit and pieces that don't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

IDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", " \n", "Hello.", "Go on."])
MARKED = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def _text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def _blocks(role: str) -> st.SearchStrategy[dict[str, Any]]:
    text = st.builds(_text, TEXTS)
    if role == "user":
        result = st.builds(
            lambda one, said: {"type": "tool_result", "tool_use_id": one, "content": said}, IDS, TEXTS
        )
        plain = text | result | st.just(IMAGE)
    else:
        call = st.builds(lambda one: {"type": "tool_use", "id": one, "name": "find", "input": {}}, IDS)
        server = st.builds(
            lambda one: {"type": "server_tool_use", "id": f"s{one}", "name": "web_search", "input": {}}, IDS
        )
        found = st.builds(
            lambda one: {"type": "web_search_tool_result", "tool_use_id": f"s{one}", "content": []}, IDS
        )
        thinking = st.builds(
            lambda signed: {"type": "thinking", "thinking": "", "signature": signed},
            st.sampled_from(["", "s"]),
        )
        compaction = st.builds(
            lambda said: {"type": "compaction", "content": said}, st.sampled_from(["", None, "So far."])
        )
        plain = text | call | server | found | thinking | compaction
    return plain | plain.map(lambda block: {**block, **MARKED})


def _anthropic_message(role: str) -> st.SearchStrategy[dict[str, Any]]:
    content = TEXTS | st.lists(_blocks(role), max_size=4)
    return content.map(lambda content: {"role": role, "content": content})


ANTHROPIC_MESSAGES = st.lists(
    st.one_of(
        *map(_anthropic_message, ("user", "user", "assistant", "assistant")),
        st.just({"role": "system", "content": "Be brief."}),
    ),
    max_size=9,
)
ANTHROPIC_BODIES = st.fixed_dictionaries(
    {"messages": ANTHROPIC_MESSAGES},
    optional={
        "model": st.sampled_from(["claude-sonnet-4-5", "claude-opus-4-8", "m"]),
        "thinking": st.sampled_from([{"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"}]),
        "system": TEXTS | st.lists(st.builds(lambda said: {**_text(said), **MARKED}, TEXTS), max_size=5),
        "cache_control": st.just({"type": "ephemeral"}),
    },
)


def _function(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "find", "arguments": "{}"}}


CHAT_MESSAGES = st.one_of(
    st.just({"role": "user", "content": "Hello."}),
    st.just({"role": "assistant", "content": "Hi."}),
    st.lists(st.builds(_function, IDS), min_size=1, max_size=3).map(
        lambda calls: {"role": "assistant", "content": None, "tool_calls": calls}
    ),
    st.builds(lambda one: {"role": "tool", "tool_call_id": one, "content": f"{one}!"}, IDS),
    st.builds(lambda one: {"role": "tool", "tool_call_id": one, "content": f"{one}!"}, IDS),
    st.just({"role": "function", "name": "find", "content": "Found."}),
)
CHAT_BODIES = st.builds(
    lambda messages: {"model": "m", "messages": messages}, st.lists(CHAT_MESSAGES, max_size=9)
)

ITEMS = st.one_of(
    st.just({"role": "user", "content": "Hello."}),
    st.just({"type": "message", "role": "assistant", "content": "Hi."}),
    st.builds(lambda one: {"type": "function_call", "call_id": one, "name": "find", "arguments": "{}"}, IDS),
    st.builds(lambda one: {"type": "custom_tool_call", "call_id": one, "name": "find", "input": ""}, IDS),
    st.builds(lambda one: {"type": "computer_call", "call_id": one, "action": {"type": "screenshot"}}, IDS),
    st.builds(lambda one: {"type": "function_call_output", "call_id": one, "output": "Found."}, IDS),
    st.builds(lambda one: {"type": "function_call_output", "call_id": one, "output": "Found."}, IDS),
    st.builds(lambda one: {"type": "reasoning", "id": f"rs_{one}", "summary": []}, IDS),
    st.just({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
)
RESPONSES_BODIES = st.fixed_dictionaries(
    {"model": st.just("gpt-5"), "input": st.lists(ITEMS, max_size=9)},
    optional={"previous_response_id": st.just("resp_1")},
)

NAMES = st.sampled_from(["find", "read"])
GEMINI_CONTENTS = st.one_of(
    st.lists(
        st.just({"text": "Hello."})
        | st.builds(lambda name: {"functionResponse": {"name": name, "response": {"output": "x"}}}, NAMES),
        max_size=3,
    ).map(lambda parts: {"role": "user", "parts": parts}),
    st.lists(
        st.just({"text": "Hi."})
        | st.builds(lambda name: {"functionCall": {"name": name, "args": {}}}, NAMES)
        | st.builds(
            lambda name: {"functionCall": {"name": name, "args": {}}, "thoughtSignature": "s"}, NAMES
        ),
        max_size=3,
    ).map(lambda parts: {"role": "model", "parts": parts}),
)
GEMINI_BODIES = st.builds(
    lambda contents, model: {"contents": contents, **model},
    st.lists(GEMINI_CONTENTS, max_size=8),
    st.sampled_from([{}, {"model": "gemini-2.5-flash"}, {"model": "gemini-3-pro"}]),
)

BODIES: Mapping[str, st.SearchStrategy[Any]] = {
    "anthropic_messages": ANTHROPIC_BODIES,
    "openai_chat": CHAT_BODIES,
    "openai_responses": RESPONSES_BODIES,
    "gemini": GEMINI_BODIES,
}
MESSAGE_KEYS: Mapping[str, str] = {
    "anthropic_messages": "messages",
    "openai_chat": "messages",
    "openai_responses": "input",
    "gemini": "contents",
}
