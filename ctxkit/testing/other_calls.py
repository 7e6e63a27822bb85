"""Small answers to calls that are no model call: lists of models, token counts, files and batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ctxkit.testing.loopback import ReceivedRequest
from ctxkit.testing.shapes import CREATED, CREATED_TEXT, Shape, shape_named

MODEL = "scripted-model"


class Count(Protocol):
    """Counts the tokens of a request body."""

    def __call__(self, body: Mapping[str, Any], *, wire: str) -> int: ...


def other_call(request: ReceivedRequest, *, count: Count) -> dict[str, Any]:
    """The body of the answer to a call that is no model call.

    Args:
        request: The call.
        count: Counts the tokens of a request body of a wire.

    Raises:
        LookupError: The server does not serve it.
    """
    called = (request.method, request.path)
    if called == ("POST", "/v1/messages/count_tokens"):
        return {"input_tokens": count(request.json, wire="anthropic_messages")}
    if called not in _ANSWERS:
        raise LookupError("the scripted model server does not serve this call")
    return _ANSWERS[called](request)


def sdk_shape(request: ReceivedRequest) -> Shape:
    """The shape that the client which sent a request expects, whatever it calls."""
    return shape_named("anthropic_messages" if _is_anthropic(request) else "openai_chat")


def _is_anthropic(request: ReceivedRequest) -> bool:
    return "anthropic-version" in request.headers


def _models(request: ReceivedRequest) -> dict[str, Any]:
    """The list of models, which holds one."""
    if _is_anthropic(request):
        model = {"id": MODEL, "type": "model", "display_name": MODEL, "created_at": CREATED_TEXT}
        return {"data": [model], "has_more": False, "first_id": MODEL, "last_id": MODEL}
    entry = {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "ctxkit"}
    return {"object": "list", "data": [entry]}


def _file(request: ReceivedRequest) -> dict[str, Any]:
    """An uploaded file; its size is that of the whole request body."""
    size = len(request.body)
    if _is_anthropic(request):
        return {
            "id": "file_0",
            "type": "file",
            "filename": "upload",
            "mime_type": "application/octet-stream",
            "size_bytes": size,
            "created_at": CREATED_TEXT,
            "downloadable": False,
        }
    return {
        "id": "file-0",
        "object": "file",
        "bytes": size,
        "created_at": CREATED,
        "filename": "upload",
        "purpose": "user_data",
        "status": "processed",
    }


def _batch(request: ReceivedRequest) -> dict[str, Any]:
    """A batch of messages that has just begun."""
    waiting = len(request.json["requests"])
    return {
        "id": "msgbatch_0",
        "type": "message_batch",
        "processing_status": "in_progress",
        "request_counts": {"processing": waiting, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": CREATED_TEXT,
        "expires_at": CREATED_TEXT,
        "ended_at": None,
        "cancel_initiated_at": None,
        "archived_at": None,
        "results_url": None,
    }


_ANSWERS: Mapping[tuple[str, str], Callable[[ReceivedRequest], dict[str, Any]]] = {
    ("GET", "/v1/models"): _models,
    ("POST", "/v1/files"): _file,
    ("POST", "/v1/messages/batches"): _batch,
}
