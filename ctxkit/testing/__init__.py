"""What tests of tool-use loops stand on: a scripted model server, and fakes for flows.

Nothing here is a model and nothing here leaves the machine: answers come from a script, over real HTTP on
loopback (`ModelServer`) or without any (`ScriptedModel`).
"""

from __future__ import annotations

from ctxkit.testing.answers import Answer, Reply, Script, failure, hang_up, native, raw, reply, slow
from ctxkit.testing.checked import checked
from ctxkit.testing.evidence import needs_evidence
from ctxkit.testing.flows import AsyncScriptedModel, ScriptedModel, both
from ctxkit.testing.loopback import ReceivedRequest
from ctxkit.testing.prompt_cache import CacheRule, PromptCache
from ctxkit.testing.recorded import from_transcript
from ctxkit.testing.server import ModelServer

__all__ = [
    "Answer",
    "AsyncScriptedModel",
    "CacheRule",
    "ModelServer",
    "PromptCache",
    "ReceivedRequest",
    "Reply",
    "Script",
    "ScriptedModel",
    "both",
    "checked",
    "failure",
    "from_transcript",
    "hang_up",
    "native",
    "needs_evidence",
    "raw",
    "reply",
    "slow",
]
