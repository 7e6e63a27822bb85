"""Counting one request body, or one text."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

from ctxkit.errors import BodyError, ConfigError
from ctxkit.messages import Histories, Prompt
from ctxkit.tokens import counter_for
from ctxkit.tokens.calibration import BAND_SDS, CALIBRATION
from ctxkit.tokens.ctok_counter import EXACT_CHARS, CtokCounter
from ctxkit.tokens.estimate import TokenCount, trust_of
from ctxkit.transcripts import bodies
from ctxkit.wire import READERS, wire_of
from ctxkit.wire.native import loads

# Where the tokens of text stand among the features of a `Sample`.
TEXT_FEATURE = 4
UNKNOWN_BODY = "not a request body of any wire that is known here; name its wire if it is one"


def count(
    body: Mapping[str, Any] | bytes | str, *, model: str | None = None, wire: str | None = None
) -> TokenCount:
    """Count the input tokens of a request, as its provider is expected to bill them, or those of a text.

    ```python
    counted = count({"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "Hi."}]})
    print(counted.total, counted.low, counted.high, counted.source)
    ```

    Args:
        body: A request body, as JSON or written out. What is written and no JSON object is plain text.
        model: The model to count for; left out, the one that the body names.
        wire: The wire of the body; left out, it is told from the body.

    Raises:
        BodyError: It is an object and no request body, or not what its wire says.
        ConfigError: There is no such wire.
    """
    if isinstance(body, Mapping):
        return CALIBRATION.count(prompt_of(body, model=model, wire=wire))
    native = _written_object(body)
    if native is not None:
        return CALIBRATION.count(prompt_of(native, model=model, wire=wire))
    if wire is not None:
        raise BodyError(f"not a JSON object, as every body of {wire} is; leave the wire out to count a text")
    return count_text(body if isinstance(body, str) else body.decode(errors="replace"), model=model)


def count_text(text: str, *, model: str | None = None) -> TokenCount:
    """Count the tokens of a text by itself, whatever it holds; `by_kind` calls it `text`.

    Args:
        text: Any text.
        model: The model to count for.
    """
    counter = counter_for(model)
    tokens = counter.count(text)
    sampled = isinstance(counter, CtokCounter) and len(text) > EXACT_CHARS
    exact = counter.exact and not sampled
    share = 0.0 if exact else BAND_SDS * trust_of(model or "", counter.name).sds[TEXT_FEATURE]
    return TokenCount(
        total=tokens,
        low=max(0, floor(tokens * (1 - share))),
        high=ceil(tokens * (1 + share)),
        by_kind={"text": tokens},
        source="exact" if exact else "estimated",
        counter=counter.name,
        model=model,
    )


def prompt_of(
    body: Mapping[str, Any],
    *,
    model: str | None = None,
    wire: str | None = None,
    histories: Histories | None = None,
) -> Prompt:
    """A request body as what its model reads.

    Args:
        body: The body.
        model: The model, in place of the one that the body names.
        wire: The wire of the body; left out, it is told from the body.
        histories: Where turns are shared with other prompts.

    Raises:
        BodyError: It is no request body.
        ConfigError: There is no such wire.
    """
    named = body if model is None else {**body, "model": model}
    if wire is not None and wire not in READERS:
        raise ConfigError(f"unknown wire {wire!r}; known wires: {', '.join(READERS)}", option="wire")
    told = wire or bodies.wire_name(named)
    reader = wire_of(named) if told is None else READERS[told]
    if reader is None:
        raise BodyError(UNKNOWN_BODY)
    return Prompt(reader, named, histories or Histories())


def _written_object(body: bytes | str) -> dict[str, Any] | None:
    """The JSON object that is written there; `None` where anything else is."""
    try:
        native = loads(body)
    except BodyError:
        return None
    return native if isinstance(native, dict) else None
