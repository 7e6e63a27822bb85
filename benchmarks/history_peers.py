"""Peers' policies for histories, each run in its own environment, in the books of `history_books`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from history_books import Course, Sent
from history_runs import Message, Run, anthropic_messages, system_prompt
from peers.running import BENCHMARKS, ENVIRONMENTS, ask

from ctxkit.messages import ModelRequest

ANSWERS = ENVIRONMENTS / "answers"


@dataclass(frozen=True)
class Peer:
    """One policy of another library.

    Attributes:
        name: As it stands in tables.
        worker: The module of `peers` that runs it.
        policy: The worker's name for it.
        environment: Where it is installed.
    """

    name: str
    worker: str
    policy: str
    environment: str

    def answer(self, run: Run, *, vocabularies: Path) -> Any:
        """What it sends for each request of a run; kept, as it depends on no prices and may take minutes."""
        task = {
            "policy": self.policy,
            "system": run.system,
            "messages": run.messages,
            "lengths": run.lengths,
            "starts": run.starts,
        }
        kept = ANSWERS / f"{self._key(task)}.json"
        if kept.exists():
            return json.loads(kept.read_text("utf-8"))
        answer = ask(self.worker, task, peer=self.environment, vocabularies=vocabularies)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(answer), "utf-8")
        return answer

    def _key(self, task: Any) -> str:
        """Stands for the task, the worker and the version of its library."""
        files = (f"{self.worker}.py", "history_worker.py", f"{self.environment}.txt")
        sources = [(BENCHMARKS / "peers" / name).read_text("utf-8") for name in files]
        return blake2b(json.dumps([task, sources]).encode(), digest_size=16).hexdigest()


PEERS = (
    Peer("LangChain ClearToolUsesEdit", "history_langchain", "clear", "langchain_agents"),
    Peer("LangChain trim_messages", "history_langchain", "trim", "langchain_agents"),
    Peer("... start_on=human", "history_langchain", "trim_start_on_human", "langchain_agents"),
    Peer("OpenHands default_condenser", "history_openhands", "condense", "openhands"),
    Peer("headroom compress", "history_headroom", "compress", "headroom"),
    Peer("openai-agents ToolOutputTrimmer", "history_openai_agents", "trim", "openai_agents"),
)


def sent_by(peer: Peer, course: Course, *, vocabularies: Path) -> Iterator[Sent]:
    """What a peer sends for each request of a run."""
    run, market = course.run, course.market
    answer = peer.answer(run, vocabularies=vocabularies)
    messages = [{"role": "system", "content": run.system}, *run.messages, *answer["messages"]]
    seconds = answer["seconds"] / len(course.exchanges)
    numbers: list[int] = []
    for exchange, (shared, *others), side_calls in zip(
        course.exchanges, answer["requests"], answer["side_calls"], strict=True
    ):
        numbers = [*numbers[:shared], *others]
        request = _request(exchange.request, [messages[number] for number in numbers])
        side_cost = sum(prompt + market.output * said for prompt, said in side_calls)
        yield Sent(request, side_cost=side_cost, seconds=seconds)


def _request(asked: ModelRequest, messages: list[Message]) -> ModelRequest:
    """The request with other messages, and with what is left of the system prompt."""
    system = "\n".join(message["content"] for message in messages if message["role"] == "system")
    native, _ = anthropic_messages([message for message in messages if message["role"] != "system"])
    body = {**asked.body, "system": system_prompt(system), "messages": native}
    return ModelRequest(asked.wire, body, asked.histories, provider=asked.provider)
