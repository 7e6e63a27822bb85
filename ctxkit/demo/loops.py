"""The demo's tool-use loop, once for each SDK, as anyone would write it: nothing here knows of ctxkit.

A program that owns such a loop adds two lines around it, and changes nothing inside:

```python
client = ctxkit.wrap(client, ctxkit.balanced())
with ctxkit.task("change-flight"):
    answers = anthropic_loop(client, model=..., system=..., tools=..., user_turns=..., run_tool=...)
```
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import anthropic
    import openai

MAX_TOKENS = 1_024


def anthropic_loop(
    client: anthropic.Anthropic,
    *,
    model: str,
    system: str,
    tools: Sequence[Any],
    user_turns: Sequence[str],
    run_tool: Callable[[str, Mapping[str, Any]], str],
) -> list[str]:
    """Answer a user's messages one after the other with Claude, and give back the answers."""
    answers = []
    messages: list[Any] = []
    for said in user_turns:
        messages.append({"role": "user", "content": said})
        while True:
            response = client.messages.create(
                model=model,
                max_tokens=MAX_TOKENS,
                system=system,
                tools=tools,
                messages=messages,
                cache_control={"type": "ephemeral"},
            )
            messages.append({"role": "assistant", "content": response.content})
            if response.stop_reason != "tool_use":
                break
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": run_tool(block.name, block.input),
                }
                for block in response.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})
        answers.append("".join(block.text for block in response.content if block.type == "text"))
    return answers


def openai_loop(
    client: openai.OpenAI,
    *,
    model: str,
    system: str,
    tools: Sequence[Any],
    user_turns: Sequence[str],
    run_tool: Callable[[str, Mapping[str, Any]], str],
) -> list[str]:
    """Answer a user's messages one after the other with GPT, and give back the answers."""
    answers = []
    messages: list[Any] = [{"role": "system", "content": system}]
    for said in user_turns:
        messages.append({"role": "user", "content": said})
        while True:
            response = client.chat.completions.create(model=model, tools=tools, messages=messages)
            message = response.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                break
            results = [
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": run_tool(call.function.name, json.loads(call.function.arguments)),
                }
                for call in message.tool_calls
                if call.type == "function"
            ]
            messages.extend(results)
        answers.append(message.content or "")
    return answers
