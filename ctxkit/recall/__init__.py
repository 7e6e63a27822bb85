"""How a model reads again what was hidden from it: parts of a text, the tool, and what is kept of its use.

Pure functions; `RecallToolResults` attaches them.
"""

from ctxkit.recall.exchanges import Place, answer_key, continued, inserted, places_of
from ctxkit.recall.parts import Part, read
from ctxkit.recall.tool import definition, with_tool

__all__ = [
    "Part",
    "Place",
    "answer_key",
    "continued",
    "definition",
    "inserted",
    "places_of",
    "read",
    "with_tool",
]
