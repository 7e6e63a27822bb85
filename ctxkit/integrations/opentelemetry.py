"""OpenTelemetry: what requests used and cost, on the span that is current, and as metrics.

```python
from ctxkit.integrations.opentelemetry import Telemetry

client = ctxkit.wrap(client, ctxkit.Stack(ctxkit.TokenMeter(), Telemetry()))
```

Spans, exporters and providers are the user's own: none is made here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ctxkit.errors import ConfigError, StreamAborted
from ctxkit.flow import Flow, Middleware, ModelNext
from ctxkit.ledger import Outcome, outcome_of
from ctxkit.messages import ModelRequest, ModelResponse
from ctxkit.money import price
from ctxkit.tasks import current_task
from ctxkit.usage import Charge, Usage

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span

Attributes = Mapping[str, str]
Amounts = Mapping[str, int | Decimal]

# Buckets, names and units: OpenTelemetry's conventions for generative AI (gen-ai-dev/1.42.0-dev), read on
# 2026-11-30. They have no word for cost, so that it stands in a namespace of our own.
TOKEN_BUCKETS = tuple(4**power for power in range(14))
SECOND_BUCKETS = tuple(2**power / 100 for power in range(14))
# The conventions' names for providers where they differ from the price list's, or are told from the wire.
PROVIDERS = {
    "aws": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google": "gcp.gen_ai",
    "mistral": "mistral_ai",
    "moonshotai": "moonshot_ai",
    "x-ai": "x_ai",
    "anthropic_messages": "anthropic",
    "bedrock_converse": "aws.bedrock",
    "gemini": "gcp.gen_ai",
    "openai_chat": "openai",
    "openai_responses": "openai",
}


class Telemetry(Middleware):
    """Puts what requests used and cost on the span that is current, and records it as metrics.

    It makes no span: an SDK that traces its calls has one already, and without it the span of the user's own
    work gets the attributes. A span with several requests has their sum. No text of a prompt or an answer
    is recorded. Put it beside `TokenMeter`, innermost to see what is really sent.

    Args:
        meter_provider: Where metrics go; left out, to the one that is set for the process.
        clock: Gives the time in seconds.

    Raises:
        ConfigError: The OpenTelemetry API is not installed.
    """

    def __init__(
        self,
        *,
        meter_provider: MeterProvider | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            raise ConfigError(
                "Telemetry needs the OpenTelemetry API: pip install 'ctxkit[opentelemetry]'",
                option="telemetry",
            ) from None
        meter = metrics.get_meter("ctxkit", meter_provider=meter_provider)
        self._current_span = trace.get_current_span
        self._clock = clock
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKEN_BUCKETS,
        )
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECOND_BUCKETS,
        )
        self._cost = meter.create_counter("ctxkit.cost.usd", unit="{USD}", description="Known cost.")
        self._sums = _Sums()

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Record the attempt, however it ends."""
        span, task, started = self._current_span(), current_task().path, self._clock()
        try:
            response = yield from call_next(request)
        except BaseException as error:
            partial = error.partial if isinstance(error, StreamAborted) else None
            outcome: Outcome = "unknown" if isinstance(error, StreamAborted) else outcome_of(error)
            self._record(_Seen(request, partial, outcome, task, error), span, self._clock() - started)
            raise
        if not response.local:
            outcome = "billed" if response.complete else "unknown"
            self._record(_Seen(request, response, outcome, task), span, self._clock() - started)
        return response

    def _record(self, seen: _Seen, span: Span, seconds: float) -> None:
        identity, usage, charge = seen.identity(), seen.usage(), seen.charge()
        failed = {} if seen.error is None else {"error.type": type(seen.error).__qualname__}
        self._duration.record(seconds, {**identity, **failed})
        for kind, tokens in () if usage is None else _token_counts(usage):
            if tokens is not None:
                self._tokens.record(tokens, {**identity, "gen_ai.token.type": kind})
        if charge is not None:
            self._cost.add(float(charge.total_usd), identity)
        if span.is_recording():
            self._annotate(span, seen, identity, {**_usage_amounts(usage), **_cost_amounts(charge)})
            if charge is None and seen.outcome != "not_billed":
                span.set_attribute("ctxkit.cost.is_lower_bound", True)

    def _annotate(self, span: Span, seen: _Seen, identity: Attributes, amounts: Amounts) -> None:
        """Put an attempt on a span; what the span says of itself, such as that it is an agent's, stays."""
        present = getattr(span, "attributes", None) or {}
        span.set_attributes({name: value for name, value in identity.items() if name not in present})
        span.set_attributes(
            {
                "ctxkit.task": seen.task,
                "ctxkit.purpose": seen.request.purpose,
                "ctxkit.retry": seen.request.retry,
                "ctxkit.outcome": seen.outcome,
            }
        )
        for name, amount in self._sums.add(span, amounts).items():
            span.set_attribute(name, float(amount) if isinstance(amount, Decimal) else amount)


class _Sums:
    """What was put on each span that still lives; free to be used by many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of_spans: WeakKeyDictionary[Span, dict[str, int | Decimal]] = WeakKeyDictionary()

    def add(self, span: Span, amounts: Amounts) -> Amounts:
        """The sums of a span after one more attempt, of those amounts that are known of it."""
        with self._lock:
            sums = self._of_spans.setdefault(span, {})
            for name, amount in amounts.items():
                sums[name] = sums.get(name, 0) + amount
            return {name: sums[name] for name in amounts}


@dataclass(frozen=True, slots=True)
class _Seen:
    """One attempt, as it ended; of a stream that broke off, the answer is what had arrived."""

    request: ModelRequest
    response: ModelResponse | None
    outcome: Outcome
    task: str
    error: BaseException | None = None

    def identity(self) -> Attributes:
        """Who was asked for what, in the words of the conventions."""
        response = self.response
        request = self.request if response is None else response.request
        asked = request.provider or request.wire.name
        known = {
            "gen_ai.operation.name": "generate_content" if request.wire.name == "gemini" else "chat",
            "gen_ai.provider.name": PROVIDERS.get(asked, asked),
            "gen_ai.request.model": request.model,
            "gen_ai.response.model": None if response is None else response.wire.model(response.body),
        }
        return {name: value for name, value in known.items() if value is not None}

    def usage(self) -> Usage | None:
        """What was reported; of a stream that broke off, the output count is a placeholder."""
        usage = None if self.response is None else self.response.usage
        if usage is None or self.outcome == "billed":
            return usage
        return replace(usage, output_tokens=None, reasoning_tokens=0)

    def charge(self) -> Charge | None:
        """What it cost; `None` where a count or a price is unknown."""
        usage, response = self.usage(), self.response
        if response is None or usage is None:
            return None
        return price(
            usage,
            model=response.model,
            provider=response.request.provider,
            stop_reason=response.stop_reason,
        )


def _token_counts(usage: Usage) -> Iterable[tuple[str, int | None]]:
    return ("input", usage.input_tokens), ("output", usage.output_tokens)


def _usage_amounts(usage: Usage | None) -> Amounts:
    if usage is None:
        return {}
    known = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.reasoning.output_tokens": None
        if usage.output_tokens is None
        else usage.reasoning_tokens,
    }
    return {name: amount for name, amount in known.items() if amount is not None}


def _cost_amounts(charge: Charge | None) -> Amounts:
    if charge is None:
        return {}
    return {
        "ctxkit.cost.usd": charge.total_usd,
        "ctxkit.cost.uncached_usd": charge.uncached_usd,
        "ctxkit.cost.cache_read_usd": charge.cache_read_usd,
        "ctxkit.cost.cache_write_usd": charge.cache_write_usd,
        "ctxkit.cost.output_usd": charge.output_usd,
        "ctxkit.cost.other_usd": charge.other_usd,
    }
