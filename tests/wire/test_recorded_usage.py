"""The usage that recorded answers report is read as what their recordings say was billed."""

from __future__ import annotations

import pytest

from ctxkit.wire import wire_named
from support.bodies import GEMINI
from support.recorded import APIS, TRUTH, lines


@pytest.mark.parametrize("name", TRUTH)
def test_the_input_of_recorded_answers_is_what_was_billed(name: str) -> None:
    """The recordings leave out what Gemini counts apart: the prompts of its own tools."""
    seen = 0
    for record in lines(f"usage_truth/{name}"):
        if record["api"] in APIS:
            wire = APIS[record["api"]]
            key = "usageMetadata" if wire == GEMINI else "usage"
            usage = wire_named(wire).usage({key: record["usage"]})
            apart = record["usage"].get("toolUsePromptTokenCount", 0)
            seen += 1
            assert usage is not None
            assert usage.input_tokens == record["input_tokens_total"] + apart
            assert usage.cache_read_tokens + usage.cache_write_tokens <= usage.input_tokens
            assert usage.reasoning_tokens <= usage.output_tokens
    assert seen
