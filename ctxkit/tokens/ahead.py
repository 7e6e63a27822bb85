"""Counting ahead: what is large and new in a request is counted away from the event loop."""

from __future__ import annotations

from contextlib import suppress

from ctxkit.errors import BodyError
from ctxkit.flow import SMALL_CHARS, Flow, perform
from ctxkit.messages import Prompt
from ctxkit.tokens.blocks import block_counter_for
from ctxkit.tokens.shape import shape_of, uncounted_chars


def counted(prompt: Prompt) -> Flow[None]:
    """Count a prompt if that takes long, so that whatever is asked of it afterwards is known already.

    Where the flow is awaited, the event loop stays free for it. A prompt that can't be read is left to
    whoever reads it next.
    """
    with suppress(BodyError):
        counter = block_counter_for(prompt.model, prompt.wire.name)
        if uncounted_chars(prompt, counter) > SMALL_CHARS:
            yield from perform(lambda: shape_of(prompt, counter))
