"""Which models bind a thinking block to everything that stood before it.

On these, changing an earlier message makes the provider refuse the request or drop the thinking
(docs "preserved thinking", second hand, read on 2026-11-30; the exact list of models is not published, so a
model that is not known to leave history free is taken as bound).
"""

from __future__ import annotations

import re

# Claude up to 4.8, and the first models of generation 5.
_FREE = re.compile(
    r"claude-(?:[12]\b|instant|3|(?:opus|sonnet|haiku)-4(?:\b|-)|(?:opus|sonnet|haiku|fable|mythos)-5(?:$|[-@]\d{8}))"
)


def binds_thinking(wire: str, model: str | None) -> bool:
    """Whether a model refuses its own thinking once something before it was changed.

    Args:
        wire: The wire's name; only Anthropic signs its thinking.
        model: The model asked; an unknown one is taken as bound.
    """
    return wire == "anthropic_messages" and _FREE.search(model or "") is None
