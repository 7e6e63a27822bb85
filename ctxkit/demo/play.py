"""`run_demo`: one recorded task through two SDKs, each once plain and once wrapped, on loopback alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ctxkit.demo.loops import anthropic_loop, openai_loop
from ctxkit.demo.recorded import (
    Outcome,
    RecordedTools,
    as_anthropic,
    recorded_outcome,
    recording,
    user_turns,
)
from ctxkit.demo.report import Comparison, DemoReport, Run
from ctxkit.flow import Middleware
from ctxkit.integrations.wrap import wrap
from ctxkit.presets import balanced, observe
from ctxkit.tasks import task
from ctxkit.testing import ModelServer, from_transcript, needs_evidence
from ctxkit.transcripts import Transcript

MAX_TOKENS = 600
CLAUDE = "claude-sonnet-5-5"
KEY = "none"
NO_SDK = "the demo needs the anthropic and openai SDKs: pip install 'ctxkit[demo]'"


def run_demo(*, max_tokens: int = MAX_TOKENS) -> DemoReport:
    """Run the recorded task with each SDK, plain and wrapped, and compare bills and outcomes.

    A scripted server stands for the providers. It gives the recorded answers, each only as long as what
    the answer takes from tool results is still in the request (see `ctxkit.testing.needs_evidence`), and
    computes the usage of the requests that really arrive. The plain runs are measured by a `TokenMeter`
    alone, the wrapped ones have the `balanced` stack.

    Args:
        max_tokens: The most tokens that a tool result may have in the wrapped runs.

    Raises:
        ConfigError: `max_tokens` is too small for any result.
        ModuleNotFoundError: The SDKs are not installed.
    """
    recorded = recording()
    stack = balanced(max_tokens=max_tokens)
    try:
        sdks = (_anthropic(recorded), _openai(recorded))
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(NO_SDK, name=error.name) from error
    return DemoReport(
        recorded=recorded,
        expected=recorded_outcome(recorded),
        max_tokens=max_tokens,
        comparisons=[
            Comparison(
                sdk=sdk.name,
                sdk_version=sdk.version,
                model=str(sdk.transcript.model),
                plain=_run("plain", sdk, observe(), recorded),
                wrapped=_run("wrapped", sdk, stack, recorded),
            )
            for sdk in sdks
        ],
    )


@dataclass(frozen=True, slots=True)
class _Sdk:
    """An SDK, and the task in its shape.

    Attributes:
        name: Its package.
        version: The version that is installed.
        transcript: The recorded run in its wire.
        connect: Makes a client for a server's URL. It ignores proxies, as nothing may leave the machine.
        loop: The tool-use loop on such a client.
    """

    name: str
    version: str
    transcript: Transcript
    connect: Callable[[str], Any]
    loop: Callable[..., list[str]]


def _anthropic(recorded: Transcript) -> _Sdk:
    import anthropic

    def connect(url: str) -> anthropic.Anthropic:
        http_client = anthropic.DefaultHttpxClient(trust_env=False)
        return anthropic.Anthropic(base_url=url, api_key=KEY, http_client=http_client)

    transcript = as_anthropic(recorded, model=CLAUDE)
    return _Sdk("anthropic", anthropic.__version__, transcript, connect, anthropic_loop)


def _openai(recorded: Transcript) -> _Sdk:
    import openai

    def connect(url: str) -> openai.OpenAI:
        http_client = openai.DefaultHttpxClient(trust_env=False)
        return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, http_client=http_client)

    return _Sdk("openai", openai.__version__, recorded, connect, openai_loop)


def _run(name: str, sdk: _Sdk, stack: Middleware, recorded: Transcript) -> Run:
    tools = RecordedTools(recorded)
    script = needs_evidence(from_transcript(sdk.transcript), sdk.transcript)
    with ModelServer(script) as server, sdk.connect(server.url) as bare:
        client = wrap(bare, stack)
        with task(f"{sdk.name}, {name}") as booked:
            answers = sdk.loop(
                client,
                model=sdk.transcript.model,
                system=recorded.messages[0]["content"],
                tools=sdk.transcript.tools,
                user_turns=user_turns(recorded),
                run_tool=tools.run,
            )
    return Run(name, Outcome(answers, tools.calls), booked.totals, len(server.requests), booked.faults)
