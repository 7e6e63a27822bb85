"""`Telemetry`: what requests used and cost stands on the current span and in the metrics."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import pytest

import ctxkit
from ctxkit.drive import run
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, done
from ctxkit.integrations.opentelemetry import Telemetry
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.testing import ModelServer, ScriptedModel, failure, reply
from ctxkit.usage import Usage
from support.bodies import ANTHROPIC, answer_to, request_of, user
from support.calling import HOWS, Sdk
from support.streams import END, Streamed, asking

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

SECRET = "the launch code is 1234"
USED = Usage(1_000, 50, cache_read_tokens=600, cache_write_tokens=100)
COST = "ctxkit.cost.usd"


@dataclass
class Observed:
    """Providers of OpenTelemetry's SDK that keep what they are given in memory."""

    reader: InMemoryMetricReader
    meters: MeterProvider
    exporter: InMemorySpanExporter
    tracers: TracerProvider

    def telemetry(self, **options: Any) -> Telemetry:
        return Telemetry(meter_provider=self.meters, **options)

    def span(self, name: str = "work", **options: Any) -> Any:
        return self.tracers.get_tracer("user").start_as_current_span(name, **options)

    def spans(self) -> dict[str, dict[str, Any]]:
        return {span.name: dict(span.attributes or {}) for span in self.exporter.get_finished_spans()}

    def points(self, metric: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        found = [one for scope in scopes for one in scope.metrics if one.name == metric]
        return [point for one in found for point in one.data.data_points]


@pytest.fixture
def observed() -> Iterator[Observed]:
    reader, exporter, tracers = InMemoryMetricReader(), InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider(metric_readers=[reader])
    yield Observed(reader, meters, exporter, tracers)
    meters.shutdown()
    tracers.shutdown()


def asked(text: str = "hi") -> ModelRequest:
    return request_of(ANTHROPIC, [user(text)], model="claude-sonnet-5")


def ask(middleware: Middleware, *answers: Any) -> None:
    model = ScriptedModel(list(answers))
    for _ in answers:
        run(ctxkit.Stack(middleware).model_flow(asked(SECRET)), model)


def test_the_current_span_gets_tokens_cost_task_and_purpose_and_no_text(observed: Observed) -> None:
    with ctxkit.task("fix-bug") as task, observed.span():
        model = ScriptedModel([reply(SECRET, usage=USED)])
        stack = ctxkit.Stack(ctxkit.TokenMeter(), observed.telemetry())
        run(stack.model_flow(asked(SECRET)), model)
    ((name, attributes),) = observed.spans().items()
    assert name == "work"
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.provider.name"] == "anthropic"
    assert attributes["gen_ai.request.model"] == "claude-sonnet-5"
    assert attributes["gen_ai.usage.input_tokens"] == 1_000
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == 600
    assert attributes["gen_ai.usage.output_tokens"] == 50
    (attempt,) = task.attempts
    assert attempt.charge is not None
    assert attributes[COST] == float(attempt.charge.total_usd) > 0
    assert attributes["ctxkit.cost.cache_read_usd"] == float(attempt.charge.cache_read_usd) > 0
    assert (attributes["ctxkit.task"], attributes["ctxkit.purpose"]) == ("fix-bug", "main")
    assert (attributes["ctxkit.retry"], attributes["ctxkit.outcome"]) == (0, "billed")
    assert "ctxkit.cost.is_lower_bound" not in attributes
    assert SECRET not in str(attributes)


def test_a_span_with_several_requests_has_their_sum(observed: Observed) -> None:
    telemetry = observed.telemetry()
    with observed.span("one"):
        ask(telemetry, reply("a", usage=USED))
    with observed.span("three"):
        ask(telemetry, *[reply("a", usage=USED)] * 3)
    spans = observed.spans()
    assert spans["three"][COST] == pytest.approx(3 * spans["one"][COST])
    assert spans["three"]["gen_ai.usage.input_tokens"] == 3_000


def test_what_a_span_says_of_itself_stays(observed: Observed) -> None:
    with observed.span(attributes={"gen_ai.operation.name": "invoke_agent"}):
        ask(observed.telemetry(), reply("a", usage=USED))
    assert observed.spans()["work"]["gen_ai.operation.name"] == "invoke_agent"


def test_metrics_have_the_names_and_buckets_of_the_conventions(observed: Observed) -> None:
    """Buckets of tokens are 1, 4, 16, ... 67108864, and of seconds 0.01, 0.02, ... 81.92."""
    ticks = iter([1.0, 3.5])
    ask(observed.telemetry(clock=lambda: next(ticks)), reply("a", usage=USED))
    tokens = {
        point.attributes["gen_ai.token.type"]: point for point in observed.points("gen_ai.client.token.usage")
    }
    assert {kind: point.sum for kind, point in tokens.items()} == {"input": 1_000, "output": 50}
    assert (tokens["input"].explicit_bounds[:3], tokens["input"].explicit_bounds[-1]) == (
        (1, 4, 16),
        67_108_864,
    )
    (duration,) = observed.points("gen_ai.client.operation.duration")
    assert (duration.sum, duration.explicit_bounds[0], duration.explicit_bounds[-1]) == (2.5, 0.01, 81.92)
    (cost,) = observed.points(COST)
    assert cost.value > 0
    assert dict(cost.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-5",
        "gen_ai.response.model": "claude-sonnet-5",
    }
    assert observed.spans() == {}


def test_a_refused_attempt_has_a_duration_and_an_error_and_no_tokens(observed: Observed) -> None:
    with (
        observed.span(record_exception=False, set_status_on_exception=False),
        pytest.raises(ctxkit.ModelCallFailed),
    ):
        ask(observed.telemetry(), failure(429))
    (duration,) = observed.points("gen_ai.client.operation.duration")
    assert duration.attributes["error.type"] == "ModelCallFailed"
    assert observed.points("gen_ai.client.token.usage") == observed.points(COST) == []
    attributes = observed.spans()["work"]
    assert attributes["ctxkit.outcome"] == "not_billed"
    assert not {COST, "gen_ai.usage.input_tokens", "ctxkit.cost.is_lower_bound"} & attributes.keys()


@pytest.mark.parametrize("read", [0, 1])
def test_a_stream_that_the_caller_drops_is_unknown_and_not_zero(read: int, observed: Observed) -> None:
    with observed.span():
        flow = ctxkit.Stack(observed.telemetry()).model_flow(asking())
        stream = Streamed(None, flow, [["Hel", "lo", END]]).start()
        for _ in range(read):
            stream.next()
        stream.close()
    attributes = observed.spans()["work"]
    assert attributes["ctxkit.outcome"] == "unknown"
    assert attributes["ctxkit.cost.is_lower_bound"] is True
    assert not {COST, "gen_ai.usage.output_tokens"} & attributes.keys()
    assert ("gen_ai.usage.input_tokens" in attributes) == bool(read)
    assert {
        point.attributes["gen_ai.token.type"] for point in observed.points("gen_ai.client.token.usage")
    } == ({"input"} if read else set())


def test_an_answer_without_usage_is_unknown_and_not_zero(observed: Observed) -> None:
    class Forget(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            answer = yield from call_next(request)
            body = {key: value for key, value in answer.body.items() if key != "usage"}
            return ModelResponse(answer.wire, body, request)

    with observed.span():
        ask(ctxkit.Stack(observed.telemetry(), Forget()), reply("a"))
    attributes = observed.spans()["work"]
    assert attributes["ctxkit.cost.is_lower_bound"] is True
    assert not {COST, "gen_ai.usage.input_tokens"} & attributes.keys()


def test_an_answer_that_a_middleware_made_is_not_recorded(observed: Observed) -> None:
    class Local(Middleware):
        def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
            return done(ModelResponse(request.wire, answer_to(request, "a").body, request, local=True))

    with observed.span():
        ask(ctxkit.Stack(observed.telemetry(), Local()), reply("a"))
    assert observed.spans() == {"work": {}}
    assert observed.points("gen_ai.client.operation.duration") == []


@pytest.mark.parametrize("how", HOWS)
def test_every_sdk_in_every_colour_is_recorded_without_a_span_of_ours(
    sdk: Sdk, how: str, observed: Observed
) -> None:
    options = {"open_telemetry": False} if sdk.is_anthropic else {}
    with (
        ModelServer([reply("Two.", usage=USED)]) as server,
        sdk.wrapped(server, observed.telemetry(), **options) as client,
        observed.span(),
    ):
        sdk.ask(client, how)
    ((name, attributes),) = observed.spans().items()
    # OpenAI streams the usage only where it is asked to.
    reported = sdk.is_anthropic or how != "streamed"
    assert name == "work"
    assert (attributes.get(COST, 0) > 0) == reported
    assert attributes.get("gen_ai.usage.output_tokens") == (50 if reported else None)
    assert attributes.get("ctxkit.cost.is_lower_bound") == (None if reported else True)
    tokens = observed.points("gen_ai.client.token.usage")
    assert [point.sum for point in tokens] == ([1_000, 50] if reported else [])


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", [anthropic.Anthropic, anthropic.AsyncAnthropic])
def test_the_span_of_the_sdk_gets_our_cost_and_stays_the_only_one(
    kind: type[Any], how: str, wait: Any, observed: Observed
) -> None:
    sdk = Sdk(kind, wait=wait)
    options = {"open_telemetry": {"tracer_provider": observed.tracers}}
    with (
        ModelServer([failure(529), reply("Two.", usage=USED)]) as server,
        sdk.wrapped(server, observed.telemetry(), **options) as client,
        observed.span(),
    ):
        sdk.ask(client, how)
    assert len(observed.exporter.get_finished_spans()) == 2
    spans = observed.spans()
    assert spans["work"] == {}
    assert spans["anthropic.messages.create"][COST] > 0
    assert spans["anthropic.messages.create"]["ctxkit.retry"] == 1
    assert spans["anthropic.messages.create"]["gen_ai.usage.input_tokens"] == 1_000


def test_a_span_that_has_ended_is_left_alone(observed: Observed) -> None:
    with observed.span():
        flow = ctxkit.Stack(observed.telemetry()).model_flow(asking())
        stream = Streamed(None, flow, [["Hello", END]]).start()
    stream.rest()
    assert observed.spans() == {"work": {}}
    assert len(observed.points("gen_ai.client.operation.duration")) == 1


def test_without_a_span_none_is_made(observed: Observed) -> None:
    ask(Telemetry(), reply("a", usage=USED))
    assert not trace.get_current_span().is_recording()
    assert observed.spans() == {}


def test_without_the_api_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match=r"ctxkit\[opentelemetry\]"):
        Telemetry()
