"""Counting: tokens of a text, of a block and of a whole request, and texts cut to a number of tokens."""

from ctxkit.tokens.ahead import counted
from ctxkit.tokens.blocks import BlockCounter, CountMemory, block_counter_for
from ctxkit.tokens.calibration import CALIBRATION, Calibration
from ctxkit.tokens.counters import (
    Counter,
    FunctionCounter,
    ModelCounter,
    TiktokenCounter,
    Tokenizer,
    counter_for,
)
from ctxkit.tokens.cut import head, tail
from ctxkit.tokens.estimate import TokenCount
from ctxkit.tokens.shape import Shape, pieces, prefix, shape_of, turn_tokens

__all__ = [
    "CALIBRATION",
    "BlockCounter",
    "Calibration",
    "CountMemory",
    "Counter",
    "FunctionCounter",
    "ModelCounter",
    "Shape",
    "TiktokenCounter",
    "TokenCount",
    "Tokenizer",
    "block_counter_for",
    "counted",
    "counter_for",
    "head",
    "pieces",
    "prefix",
    "shape_of",
    "tail",
    "turn_tokens",
]
