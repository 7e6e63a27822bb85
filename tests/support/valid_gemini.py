"""Random histories that Google's Gemini API accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from support.valid_loops import NAMES, PNG, Loop

IMAGE = {"inlineData": {"mimeType": "image/png", "data": PNG}}
FILE = {"fileData": {"mimeType": "application/pdf", "fileUri": "https://fox.example/fox.pdf"}}
DECLARATIONS = [{"name": name, "parameters": {"type": "OBJECT"}} for name in ("search", "read_file", "bash")]
SIGNED = {"thoughtSignature": "c2ln"}


class GeminiLoop(Loop):
    """A history of the Gemini API while it is written."""

    wire = "gemini"

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        super().__init__(draw)
        self._names_calls = self.chance()
        self._is_snake = self.chance()

    def head(self) -> dict[str, Any]:
        """Model, tools and the system instruction, spelled in either way."""
        instruction = {"parts": [{"text": "You find foxes."}]}
        key = "system_instruction" if self._is_snake else "systemInstruction"
        declarations = "function_declarations" if self._is_snake else "functionDeclarations"
        return {
            **self.one_of({}, {"model": "gemini-2.5-pro"}, {"model": "gemini-3-pro"}),
            "tools": [{declarations: DECLARATIONS}],
            **self.one_of({}, {key: instruction}),
        }

    def ask(self) -> None:
        """The user speaks, shows something, or both."""
        parts = [*self.some_of(IMAGE, FILE), {"text": self.text()}]
        if self.number(0, 15) == 0:
            parts.append({"hologram": {"beam": "red"}})
        self.messages.append({**self.one_of({}, {"role": "user"}), "parts": parts})

    def go_on(self) -> None:
        """An answer with what the user says to it, or calls with their results."""
        kind = self.one_of("answer", "calls", "calls", "calls", "more")
        if kind == "calls":
            self._call()
        else:
            if kind == "answer":
                parts = [*self._thoughts(), *self._ran_code(), {"text": self.text()}]
                self.messages.append({"role": "model", "parts": parts})
            self.ask()
        self.send()

    def _call(self) -> None:
        """Parallel calls, of which the first is signed, and as many responses."""
        names = [(self.draw(NAMES), one) for one in self.call_ids()]
        signed, *others = [self._one_call(*name) for name in names]
        parts = [*self._thoughts(), *self.some_of({"text": "Let me look."})]
        self._say([*parts, {**signed, **SIGNED}, *others])
        responses = [self._response(*name) for name in names]
        role = self.one_of("user", "function")
        if len(responses) > 1 and self.number(0, 5) == 0:
            self.messages.append({"role": role, "parts": [responses.pop(0)]})
        speech = self.some_of({"text": self.text()}) if self.number(0, 3) == 0 else []
        self.messages.append({"role": role, "parts": [*responses, *speech]})

    def _say(self, parts: list[Any]) -> None:
        """What the model says, in one content or in the two that its stream came in."""
        cut = self.number(0, len(parts) - 1)
        pieces = [parts[:cut], parts[cut:]] if cut else [parts]
        self.messages += [{"role": "model", "parts": piece} for piece in pieces]

    def _thoughts(self) -> list[Any]:
        thought = {"text": "Hm, a fox.", "thought": True}
        return self.one_of([], [thought], [{**thought, **SIGNED}], [{**SIGNED, "text": ""}])

    def _ran_code(self) -> list[Any]:
        code = {"executableCode": {"language": "PYTHON", "code": "print('fox')"}}
        result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": self.found()}}
        return self.one_of([], [], [code, result])

    def _one_call(self, name: str, call_id: str) -> dict[str, Any]:
        key = "function_call" if self._is_snake else "functionCall"
        return {key: {**self._id(call_id), "name": name, "args": {"what": "fox"}}}

    def _response(self, name: str, call_id: str) -> dict[str, Any]:
        found = self.found()
        response = self.one_of(
            {}, *({key: found} for key in ("output", "result", "error")), {"rows": [found]}
        )
        parts = self.one_of({}, {}, {"parts": [IMAGE]})
        key = "function_response" if self._is_snake else "functionResponse"
        return {key: {**self._id(call_id), "name": name, "response": response, **parts}}

    def _id(self, call_id: str) -> dict[str, str]:
        return {"id": call_id} if self._names_calls else {}
