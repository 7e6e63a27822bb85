"""Recorded runs, read from the files of many programs into one shape."""

from ctxkit.transcripts._fields import is_generated
from ctxkit.transcripts._files import expand
from ctxkit.transcripts._load import load
from ctxkit.transcripts._sessions import find_session_files
from ctxkit.transcripts.base import RecordedRequest, Skipped, Transcript
from ctxkit.transcripts.ctxkit_format import RecordedAttempt

__all__ = [
    "RecordedAttempt",
    "RecordedRequest",
    "Skipped",
    "Transcript",
    "expand",
    "find_session_files",
    "is_generated",
    "load",
]
