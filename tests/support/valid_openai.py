"""Random histories that OpenAI's Chat Completions API and its Responses API accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from support.valid_loops import NAMES, PDF, PNG, Loop

TOOL_NAMES = ("search", "read_file", "bash")
IMAGE_URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
FILE = {"type": "file", "file": {"filename": "fox.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}
INPUT_IMAGE = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"}
INPUT_FILE = {"type": "input_file", "filename": "fox.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}


class ChatLoop(Loop):
    """A history of OpenAI's Chat Completions API while it is written."""

    wire = "openai_chat"

    def head(self) -> dict[str, Any]:
        """Model and tools."""
        return {
            "model": self.one_of("gpt-4.1", "gpt-5", "deepseek-reasoner"),
            "tools": [
                {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
                for name in TOOL_NAMES
            ],
        }

    def ask(self) -> None:
        """The user speaks, behind a system prompt where the history begins."""
        if not self.messages or self.number(0, 7) == 0:
            role = self.one_of("system", "developer", None)
            self.messages += [{"role": role, "content": "You find foxes."}] if role else []
        text = {"type": "text", "text": self.text()}
        self.messages.append(
            {"role": "user", "content": self.one_of(text["text"], [text, *self.some_of(IMAGE_URL, FILE)])}
        )

    def go_on(self) -> None:
        """An answer with what the user says to it, or calls with their results."""
        kind = self.one_of("answer", "calls", "calls", "calls", "function", "more")
        if kind == "calls":
            self._call()
        elif kind == "function":
            called = {"name": self.draw(NAMES), "arguments": "{}"}
            self.messages += [
                {"role": "assistant", "content": None, "function_call": called},
                {"role": "function", "name": called["name"], "content": self.found()},
            ]
        else:
            self.messages += [self._answer()] if kind == "answer" else []
            self.ask()
        self.send()

    def _answer(self) -> dict[str, Any]:
        said = self.text()
        parts = [{"type": "text", "text": said}]
        ways: list[dict[str, Any]] = [
            {"content": said},
            {"content": parts},
            {"content": None, "refusal": "No."},
        ]
        content = self.one_of(*ways)
        return {"role": "assistant", **content, **self._reasoning()}

    def _reasoning(self) -> dict[str, Any]:
        return self.one_of({}, {"reasoning_content": "Hm, a fox."})

    def _call(self) -> None:
        ids = self.call_ids()
        ways: list[dict[str, Any]] = [{"content": None}, {"content": "Let me look."}, {}]
        said = self.one_of(*ways)
        calls = [self._one_call(one) for one in ids]
        self.messages.append({"role": "assistant", **said, **self._reasoning(), "tool_calls": calls})
        self.messages += self.shuffled([self._result(one) for one in ids])

    def _one_call(self, call_id: str) -> dict[str, Any]:
        name = self.draw(NAMES)
        if self.number(0, 5) == 0:
            return {"id": call_id, "type": "custom", "custom": {"name": name, "input": "fox"}}
        arguments = self.one_of("{}", '{"what": "fox"}')
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    def _result(self, call_id: str) -> dict[str, Any]:
        found = self.found()
        parts = [{"type": "text", "text": found}, {"type": "text", "text": self.text()}]
        content = self.one_of(found, found, parts)
        return {"role": "tool", "tool_call_id": call_id, "content": content}


class ResponsesLoop(Loop):
    """A history of OpenAI's Responses API while it is written."""

    wire = "openai_responses"

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        super().__init__(draw)
        self._reuses_ids = False
        self._goes_on = self.number(0, 4) == 0
        # Whoever stores nothing gets the reasoning encrypted, and may leave the ids of items out.
        self._stores = self.chance()

    def head(self) -> dict[str, Any]:
        """Model, tools, instructions, and what the input goes on from."""
        kept = self.one_of({"previous_response_id": "resp_1"}, {"conversation": "conv_1"})
        return {
            "model": self.one_of("gpt-5", "gpt-4.1"),
            "store": self._stores,
            "tools": [
                {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}
                for name in TOOL_NAMES
            ],
            **self.one_of({}, {"instructions": "You find foxes."}),
            **(kept if self._goes_on else {}),
        }

    def ask(self) -> None:
        """The user speaks; what goes on from a stored answer may first answer a call that was in it."""
        if self._goes_on and not self.messages and self.chance():
            self.messages.append(self._output("function_call", "stored"))
        text = {"type": "input_text", "text": self.text()}
        content = self.one_of(text["text"], [*self.some_of(INPUT_IMAGE, INPUT_FILE), text])
        self.messages.append({**self.one_of({}, {"type": "message"}), "role": "user", "content": content})

    def go_on(self) -> None:
        """An answer with what the user says to it, calls with their results, or what the provider keeps."""
        kind = self.one_of("answer", "calls", "calls", "calls", "more", "kept")
        if kind == "answer":
            self.messages += [*self._reasoning(), *self._server_calls(), self._message()]
            self.ask()
        elif kind == "calls":
            self._call()
        elif kind == "more":
            self.ask()
        else:
            self._keep()
            self.ask()
        self.send()

    def _call(self) -> None:
        self.messages += self.one_of([], [self._message()])
        ids = self.call_ids()
        kinds = [self.one_of("function_call", "function_call", "custom_tool_call", "shell_call") for _ in ids]
        calls = [self._one_call(kind, one) for kind, one in zip(kinds, ids, strict=True)]
        outputs = [self._output(kind, one) for kind, one in zip(kinds, ids, strict=True)]
        self.messages += [*self._reasoning(), *self._server_calls()]
        if self.chance():
            self.messages += [*calls, *self.shuffled(outputs)]
            return
        for call, output in zip(calls, outputs, strict=True):
            self.messages += [call, output]

    def _keep(self) -> None:
        """Items that stand for others, or that no type of the SDK knows."""
        compaction = {"type": "compaction", "id": self.new_id("cmp"), "encrypted_content": "ZQ=="}
        reference = {"type": "item_reference", "id": self.new_id("msg")}
        unknown = {"type": "hologram", "id": self.new_id("holo"), "beam": "red"}
        kept = self.one_of(compaction, reference, unknown)
        self.typed = self.typed and kept is not unknown
        self.messages.append(kept)

    def _reasoning(self) -> list[Any]:
        """Reasoning, which stands right in front of what it led to."""
        summary = self.one_of([], [{"type": "summary_text", "text": "Hm, a fox."}])
        encrypted = {} if self._stores else {"encrypted_content": "ZQ=="}
        item = {"type": "reasoning", "id": self.new_id("rs"), "summary": summary, **encrypted}
        return self.one_of([], [item], [item, {**item, "id": self.new_id("rs")}])

    def _server_calls(self) -> list[Any]:
        """Calls that the provider ran; reasoning may stand in front of them."""
        search = {
            "type": "web_search_call",
            "id": self.new_id("ws"),
            "status": "completed",
            "action": {"type": "search", "query": "fox", "queries": ["fox"]},
        }
        code = {
            "type": "code_interpreter_call",
            "id": self.new_id("ci"),
            "status": "completed",
            "code": "print('fox')",
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": self.found()}],
        }
        return self.some_of(search, code) if self.number(0, 3) == 0 else []

    def _message(self) -> dict[str, Any]:
        part = {"type": "output_text", "text": self.text(), "annotations": []}
        whole = {"type": "message", "id": self.new_id("msg"), "status": "completed", "content": [part]}
        return {"role": "assistant", **self.one_of({"content": part["text"]}, whole)}

    def _one_call(self, kind: str, call_id: str) -> dict[str, Any]:
        made = {"type": kind, "call_id": call_id, "id": self.new_id("fc")}
        if kind == "shell_call":
            return {**made, "action": {"commands": ["ls"]}, "status": "completed"}
        given = {"arguments": "{}"} if kind == "function_call" else {"input": "fox"}
        return {**made, "name": self.draw(NAMES), **given}

    def _output(self, kind: str, call_id: str) -> dict[str, Any]:
        found = self.found()
        made = {"type": f"{kind}_output", "call_id": call_id}
        if kind == "shell_call":
            outcome = {"type": "exit", "exit_code": self.one_of(0, 1)}
            entry = {"stdout": found, "stderr": "", "outcome": outcome}
            return {**made, "output": self.one_of([entry], [entry, {**entry, "stderr": "No fox."}])}
        parts = [{"type": "input_text", "text": found}, INPUT_IMAGE, {"type": "input_text", "text": "Fox."}]
        return {**made, "output": self.one_of(found, found, parts)}
