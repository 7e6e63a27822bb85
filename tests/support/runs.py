"""Recorded runs, written out: the same short conversation in the shape of every provider."""

from __future__ import annotations

from typing import Any

from ctxkit.transcripts import RecordedRequest, Transcript
from ctxkit.usage import Usage

CLAUDE, GPT = "claude-sonnet-4-5", "gpt-4.1"
LONG = "the quick brown fox jumps over the lazy dog " * 40

ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Where is the fox?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"what": "fox"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": LONG}]},
    {"role": "assistant", "content": "Over the dog."},
]


def run(
    *requests: RecordedRequest, messages: list[Any] = ANTHROPIC, wire: str = "anthropic_messages", **more: Any
) -> Transcript:
    """A recorded run, of a Claude model in Anthropic's shape where nothing else is said."""
    known = {
        "id": "run",
        "format": "claude_code",
        "provider": None,
        "model": CLAUDE,
        "system": None,
        "tools": [],
    }
    return Transcript(**{**known, "wire": wire, "messages": messages, "requests": requests, **more})


def used(sent: int, read: int, written: int | None, *, cached: int = 0, **more: Any) -> RecordedRequest:
    """A recorded request with its usage."""
    return RecordedRequest(sent, Usage(read, written, cache_read_tokens=cached), **more)


RUNS = {
    "anthropic_messages": run(
        used(1, 400, 30),
        used(3, 900, 10, cached=400),
        system=[{"type": "text", "text": LONG}],
        tools=[{"name": "find", "input_schema": {"type": "object"}}],
    ),
    "openai_chat": run(
        used(2, 400, 30),
        used(4, 900, 10, cached=400),
        wire="openai_chat",
        model=GPT,
        tools=[{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}],
        messages=[
            {"role": "system", "content": LONG},
            {"role": "user", "content": "Where is the fox?"},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "find", "arguments": '{"what":"fox"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": LONG},
            {"role": "assistant", "content": "Over the dog."},
        ],
    ),
    "openai_responses": run(
        used(1, 400, 30),
        used(4, 900, 10, cached=400),
        wire="openai_responses",
        model=GPT,
        system=LONG,
        tools=[{"type": "function", "name": "find", "parameters": {"type": "object"}}],
        messages=[
            {"role": "user", "content": "Where is the fox?"},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I should look for it."}]},
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"what":"fox"}'},
            {"type": "function_call_output", "call_id": "c1", "output": LONG},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Over the dog."}]},
        ],
    ),
    "gemini": run(
        used(1, 400, 30),
        used(3, 900, 10, cached=400),
        wire="gemini",
        model="gemini-2.5-flash",
        system={"parts": [{"text": LONG}]},
        tools=[{"functionDeclarations": [{"name": "find", "parameters": {"type": "object"}}]}],
        messages=[
            {"role": "user", "parts": [{"text": "Where is the fox?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"what": "fox"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"said": LONG}}}]},
            {"role": "model", "parts": [{"text": "Over the dog."}]},
        ],
    ),
    "bedrock_converse": run(
        used(1, 400, 30),
        used(3, 900, 10, cached=400),
        wire="bedrock_converse",
        provider="aws",
        model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        system=[{"text": LONG}],
        tools=[{"toolSpec": {"name": "find", "inputSchema": {"json": {"type": "object"}}}}],
        messages=[
            {"role": "user", "content": [{"text": "Where is the fox?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "find", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": LONG}]}}]},
            {"role": "assistant", "content": [{"text": "Over the dog."}]},
        ],
    ),
}
