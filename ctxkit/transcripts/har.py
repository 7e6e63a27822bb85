"""HAR files, as browsers and proxies export them: the model calls among the traffic.

Follows version 1.2 of the HTTP Archive format, as `ahmadnassri/har-spec` has it, read on 2026-11-30.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.transcripts._fields import objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._traffic import Exchange, runs
from ctxkit.transcripts.base import Transcript
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import known, mapping

FORMAT = "har"


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a whole HAR file."""
    return isinstance(mapping(record.get("log")).get("entries"), list)


def read(source: Source) -> Iterator[Transcript]:
    """The runs that the model calls of the file make up."""
    return runs(source, _exchanges(source), format=FORMAT)


def _exchanges(source: Source) -> Iterator[Exchange]:
    for line, record in source.records():
        for entry in objects(mapping(record.get("log")).get("entries")):
            request, response = mapping(entry.get("request")), mapping(entry.get("response"))
            content = mapping(response.get("content"))
            yield Exchange(
                line=line,
                method=string(request.get("method")) or "",
                url=string(request.get("url")) or "",
                request=_bytes(mapping(request.get("postData"))),
                status=known(response.get("status")) or None,
                answer=_bytes(content),
                content_type=string(content.get("mimeType")) or "",
                when=entry.get("startedDateTime"),
            )


def _bytes(content: Mapping[str, Any]) -> bytes:
    written = (string(content.get("text")) or "").encode(errors="surrogatepass")
    if content.get("encoding") != "base64":
        return written
    try:
        return base64.b64decode(written)
    except binascii.Error:
        return b""
