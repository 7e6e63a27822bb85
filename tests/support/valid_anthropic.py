"""Random histories that Anthropic's Messages API accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from support.valid_loops import NAMES, PDF, PNG, Loop

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
DOCUMENT = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
PLAIN = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A fox."}}
UNKNOWN = {"type": "hologram", "beam": "red"}
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("search", "read_file", "bash")]
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
# Thinking is bound to the history, it is not, and nobody knows.
MODELS = (
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "claude-opus-4-8",
    "claude-sonnet-4-5",
    "claude-3-7-sonnet-latest",
    "house",
)
PREFILLED = ("claude-sonnet-4-5", "claude-3-7-sonnet-latest", "house")
WITH_SYSTEM_MESSAGES = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-opus-4-8")


class AnthropicLoop(Loop):
    """A history of Anthropic's Messages API while it is written."""

    wire = "anthropic_messages"

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        super().__init__(draw)
        self._model = self.one_of(*MODELS)
        self._thinking = self.one_of("enabled", "adaptive", "disabled", None)
        # Marks for the prompt cache: there may be two more in the head, and four in all.
        self._marks = self.number(0, 2)
        self._marks_by_itself = self._marks < 2 and self.chance()
        self._waiting: str | None = None
        # Whether an answer since the user spoke last began with thinking.
        self._thought = False

    def head(self) -> dict[str, Any]:
        """Model, tools, system prompt, thinking, and marks for the prompt cache."""
        mark = {"cache_control": {"type": "ephemeral", **self.one_of({}, {"ttl": "1h"})}}
        system = {"type": "text", "text": "You find foxes."}
        budget = {"budget_tokens": 1024} if self._thinking == "enabled" else {}
        return {
            "model": self._model,
            "max_tokens": 2048,
            "tools": [*TOOLS, {**SEARCH, **self.one_of({}, mark)}],
            **self.one_of({}, {"system": "You find foxes."}, {"system": [system, {**system, **mark}]}),
            **({"thinking": {"type": self._thinking, **budget}} if self._thinking else {}),
            **({"cache_control": {"type": "ephemeral"}} if self._marks_by_itself else {}),
        }

    def ask(self) -> None:
        """The user speaks, shows something, or both; a message of the system's may follow."""
        text = {"type": "text", "text": self.text()}
        more = self.some_of(IMAGE, DOCUMENT, PLAIN)
        if self.number(0, 15) == 0:
            self.typed = False
            more.append(UNKNOWN)
        self._say("user", self.one_of(text["text"], [*more, text], more or [text]))
        self._thought = False
        if self._model in WITH_SYSTEM_MESSAGES and self.number(0, 7) == 0:
            self.typed = False
            self._say("system", "Be brief from now on.")

    def go_on(self) -> None:
        """An answer with what the user says to it, calls with their results, or a pause."""
        kind = self.one_of("answer", "calls", "calls", "calls", "calls", "pause", "prefill", "more")
        if kind == "prefill" and (self._model not in PREFILLED or self._thinking not in (None, "disabled")):
            kind = "calls"
        if kind == "more" and not self._waiting:
            self.ask()
        elif kind == "pause":
            self._pause()
        elif kind == "prefill" and not self._waiting:
            self._say("assistant", self.one_of("The fox is", [{"type": "text", "text": "The fox is"}]))
        elif kind == "answer":
            # An answer that ran out of tokens may be nothing but thinking.
            opening, text = self._opening(), {"type": "text", "text": self.text()}
            self._say("assistant", opening if opening and self.chance() else [*opening, text])
            self.ask()
        else:
            self._call()
        self.send()

    def _pause(self) -> None:
        """The provider's own tool takes long: the answer comes back unfinished and is sent as it came."""
        opening = self._opening(last=True)
        self._say("assistant", [*opening, self._server_call()])

    def _call(self) -> None:
        opening = self._opening()
        opening += self.some_of({"type": "text", "text": "Let me look."})
        ids = self.call_ids("toolu")
        calls = [
            {"type": "tool_use", "id": one, "name": self.draw(NAMES), "input": {"n": place}}
            for place, one in enumerate(ids)
        ]
        waiting = [self._server_call()] if self.number(0, 5) == 0 else []
        self._say("assistant", [*opening, *waiting, *calls])
        results: list[Any] = self.shuffled([self._result(one) for one in ids])
        if self.number(0, 5) == 0 and len(results) > 1:
            self._say("user", [results.pop(0)])
        speech = self.some_of({"type": "text", "text": self.text()}, IMAGE) if self.number(0, 3) == 0 else []
        if speech and not waiting:
            self._thought = False
            results += speech
        self._say("user", results)

    def _opening(self, *, last: bool = False) -> list[Any]:
        """How an answer begins: the result that was waited for, thinking, searches that are done."""
        blocks: list[Any] = []
        if self._waiting is not None:
            blocks.append(self._server_result(self._waiting))
            self._waiting = None
        must_think = self._thinking == "enabled" and not self._thought
        may_think = not (last and self._thinking == "disabled")
        if must_think or (may_think and self.chance()):
            self._thought = self._thought or not blocks
            blocks += self._thoughts()
        if self.number(0, 4) == 0:
            call = self._server_call()
            self._waiting = None
            blocks += [call, self._server_result(call["id"])]
        return blocks

    def _thoughts(self) -> list[Any]:
        thinking = {"type": "thinking", "thinking": self.one_of("", "Hm, a fox."), "signature": "c2ln"}
        redacted = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
        return self.one_of([thinking], [redacted], [thinking, redacted])

    def _server_call(self) -> dict[str, Any]:
        self._waiting = self.new_id("srvtoolu")
        return {
            "type": "server_tool_use",
            "id": self._waiting,
            "name": "web_search",
            "input": {"query": "fox"},
        }

    def _server_result(self, call_id: str) -> dict[str, Any]:
        hit = {
            "type": "web_search_result",
            "title": "Fox",
            "url": "https://fox.example",
            "encrypted_content": "ZQ==",
        }
        failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        content = self.one_of([], [hit], failed)
        return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": content}

    def _result(self, call_id: str) -> dict[str, Any]:
        text = {"type": "text", "text": self.found()}
        parts = [text, IMAGE, {"type": "text", "text": self.text()}] if text["text"] else [IMAGE]
        held = self.one_of({}, *({"content": content} for content in (text["text"], text["text"], parts, [])))
        return {"type": "tool_result", "tool_use_id": call_id, **held, **self.one_of({}, {"is_error": True})}

    def _say(self, role: str, content: Any) -> None:
        """One more message, its last block marked for the prompt cache now and then."""
        can_be_marked = isinstance(content, list) and "thinking" not in content[-1]["type"]
        if self._marks and can_be_marked and self.number(0, 3) == 0:
            self._marks -= 1
            *before, last = content
            content = [*before, {**last, "cache_control": {"type": "ephemeral"}}]
        self.messages.append({"role": role, "content": content})
