"""What a URL says of a model call: its wire, and where the URL names them, its model and its stream."""

from __future__ import annotations

import pytest

from ctxkit.wire.paths import endpoint_of, readdressed
from support.bodies import ANTHROPIC, GEMINI, OPENAI, RESPONSES

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PROFILE = f"arn:aws:bedrock:us-east-1:1:inference-profile/{CLAUDE}"
VERTEX = "/v1/projects/p/locations/us-east5/publishers"


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/messages", ANTHROPIC),
        ("/anthropic/v1/messages", ANTHROPIC),
        ("/v1/chat/completions", OPENAI),
        ("/api/v1/chat/completions", OPENAI),
        ("/openai/v1/chat/completions", OPENAI),
        ("/v1beta/openai/chat/completions", OPENAI),
        ("/v1/responses", RESPONSES),
        ("/openai/v1/responses", RESPONSES),
        ("/gateway/v1/responses", RESPONSES),
    ],
)
def test_a_path_that_names_no_model_leaves_it_to_the_body(path: str, wire: str) -> None:
    endpoint = endpoint_of(path)
    assert endpoint is not None
    assert (endpoint.wire.name, endpoint.model, endpoint.stream) == (wire, None, None)


@pytest.mark.parametrize(
    ("path", "wire", "model", "stream"),
    [
        ("/openai/deployments/mine/chat/completions", OPENAI, "mine", None),
        ("/openai/deployments/mine/responses", RESPONSES, "mine", None),
        (f"/model/{CLAUDE}/invoke", ANTHROPIC, CLAUDE, None),
        (f"/model/{CLAUDE}/invoke-with-response-stream", ANTHROPIC, CLAUDE, "aws"),
        (f"/model/{PROFILE}/invoke", ANTHROPIC, PROFILE, None),
        (
            f"{VERTEX}/anthropic/models/claude-opus-4-6@default:rawPredict",
            ANTHROPIC,
            "claude-opus-4-6@default",
            None,
        ),
        (f"{VERTEX}/anthropic/models/claude-opus-4-6:streamRawPredict", ANTHROPIC, "claude-opus-4-6", "sse"),
        (f"{VERTEX}/google/models/gemini-3-pro:generateContent", GEMINI, "gemini-3-pro", None),
        ("/v1beta/models/gemini-3-pro:generateContent", GEMINI, "gemini-3-pro", None),
        ("/v1beta/tunedModels/mine:generateContent", GEMINI, "mine", None),
        ("/v1/projects/p/locations/l/endpoints/17:generateContent", GEMINI, "17", None),
        ("/v1beta/models/gemini-3-pro:streamGenerateContent", GEMINI, "gemini-3-pro", "json"),
    ],
)
def test_a_path_may_name_the_model_and_ask_for_a_stream(
    path: str, wire: str, model: str, stream: str | None
) -> None:
    endpoint = endpoint_of(path)
    assert endpoint is not None
    assert (endpoint.wire.name, endpoint.model, endpoint.stream) == (wire, model, stream)


def test_gemini_streams_server_sent_events_where_the_query_asks_for_them() -> None:
    endpoint = endpoint_of("/v1beta/models/gemini-3-pro:streamGenerateContent", "key=k&alt=sse")
    assert endpoint is not None
    assert endpoint.stream == "sse"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/threads/thread_1/messages",
        "/v1/responses/compact",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/cancel",
        "/v1/models",
        f"/model/{CLAUDE}/converse",
        f"/model/{CLAUDE}/converse-stream",
        "/model/us.amazon.nova-pro-v1:0/invoke",
        f"{VERTEX}/anthropic/models/count-tokens:rawPredict",
        f"{VERTEX}/google/models/gemini-3-pro:countTokens",
        "/v1beta/models/gemini-3-pro:batchGenerateContent",
        "/v1beta/models/gemini-embedding-001:embedContent",
        "/v1beta/cachedContents",
    ],
)
def test_what_is_no_model_call_is_no_endpoint(path: str) -> None:
    assert endpoint_of(path) is None


@pytest.mark.parametrize(
    ("target", "model", "stream", "made"),
    [
        ("/v1beta/models/a:streamGenerateContent?alt=sse", None, False, "/v1beta/models/a:generateContent"),
        (
            "/v1beta/models/a:streamGenerateContent?key=k&alt=sse",
            "b",
            False,
            "/v1beta/models/b:generateContent?key=k",
        ),
        (
            "/v1beta/models/a:streamGenerateContent?alt=sse",
            "b",
            True,
            "/v1beta/models/b:streamGenerateContent?alt=sse",
        ),
        ("/model/anthropic.a%3A0/invoke-with-response-stream", None, False, "/model/anthropic.a%3A0/invoke"),
        (
            "/publishers/anthropic/models/a:streamRawPredict",
            None,
            False,
            "/publishers/anthropic/models/a:rawPredict",
        ),
        (
            "/openai/deployments/a/chat/completions?v=1",
            "b",
            False,
            "/openai/deployments/b/chat/completions?v=1",
        ),
    ],
)
def test_a_call_can_be_sent_to_another_model_and_for_an_answer_in_one_piece(
    target: str, model: str | None, stream: bool, made: str
) -> None:
    assert readdressed(target, model=model, stream=stream) == made
