"""Cassettes of `vcrpy` and its kin, in JSON or YAML: the model calls among the recorded requests.

Source: `serialize.py` and the serializers of `vcrpy`, read on 2026-11-30; `parsed_body`, `base64_string`,
`http_interactions` and `status_code` are what others write. YAML needs the extra `vcr`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ctxkit.transcripts._fields import objects
from ctxkit.transcripts._files import Record, Source
from ctxkit.transcripts._traffic import Exchange, runs
from ctxkit.transcripts.base import Skipped, Transcript
from ctxkit.wire.native import dumps, string
from ctxkit.wire.usage_fields import known, mapping

FORMAT = "cassette"
NEEDS_YAML = "a YAML cassette needs PyYAML: install ctxkit[vcr]"
LOOKED_AT_BYTES = 4096


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a whole cassette."""
    interactions = record.get("interactions", record.get("http_interactions"))
    return any({"request", "response"} <= one.keys() for one in objects(interactions))


def read(source: Source) -> Iterator[Transcript]:
    """The runs that the model calls of the cassette make up."""
    return runs(source, _exchanges(source), format=FORMAT)


def is_yaml(path: Path) -> bool:
    """Whether a file begins as a cassette in YAML does."""
    try:
        with path.open("rb") as file:
            start = file.read(LOOKED_AT_BYTES)
    except OSError:
        return False
    keys = (b"interactions:", b"http_interactions:")
    return any(line.startswith(keys) for line in start.splitlines())


def yaml_outcomes(path: Path) -> Iterable[Record | Skipped]:
    """A cassette in YAML as the one record that it is, or why it can't be read."""
    try:
        yaml = import_module("yaml")
    except ImportError:
        return [Skipped(str(path), None, NEEDS_YAML)]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(path.read_bytes(), Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        return [Skipped(str(path), None, f"not YAML: {str(error).splitlines()[0]}")]
    return [Record(1, document)] if isinstance(document, dict) else []


def _exchanges(source: Source) -> Iterator[Exchange]:
    for line, record in source.records():
        for one in objects(record.get("interactions", record.get("http_interactions"))):
            request, response = mapping(one.get("request")), mapping(one.get("response"))
            status = response.get("status", response.get("status_code"))
            yield Exchange(
                line=line,
                method=str(request.get("method", "")).upper(),
                url=string(request.get("uri")) or string(request.get("url")) or "",
                request=_content(request),
                status=known(mapping(status).get("code", status)),
                answer=_content(response),
                content_type=_content_type(mapping(response.get("headers"))),
                when=one.get("recorded_at"),
            )


def _content(message: Mapping[str, Any]) -> bytes:
    """The content of a request or an answer: text, bytes, bytes as base64, or JSON that was parsed."""
    if "parsed_body" in message:
        return dumps(message["parsed_body"])
    body = message.get("body", message.get("content"))
    if isinstance(body, Mapping):
        packed = string(body.get("base64_string"))
        if packed is not None:
            return _unpacked(packed)
        body = body.get("string")
    if isinstance(body, str):
        return body.encode(errors="surrogatepass")
    return body if isinstance(body, bytes) else b""


def _unpacked(packed: str) -> bytes:
    try:
        return base64.b64decode(packed)
    except (binascii.Error, ValueError):
        return b""


def _content_type(headers: Mapping[str, Any]) -> str:
    values = (value for name, value in headers.items() if str(name).lower() == "content-type")
    value = next(values, "")
    return str(value[0] if isinstance(value, list) and value else value)
