"""Counting: tokens of a text, of a block and of a whole request, and texts cut to a number of tokens."""

from ctxkit.tokens.blocks import IMAGE_TOKENS, BlockCounter, block_counter_for
from ctxkit.tokens.counters import Counter, TiktokenCounter, Tokenizer, counter_for
from ctxkit.tokens.cut import head, tail
from ctxkit.tokens.shape import TURN_TOKENS, Shape, prefix, shape_of, turn_tokens

__all__ = [
    "IMAGE_TOKENS",
    "TURN_TOKENS",
    "BlockCounter",
    "Counter",
    "Shape",
    "TiktokenCounter",
    "Tokenizer",
    "block_counter_for",
    "counter_for",
    "head",
    "prefix",
    "shape_of",
    "tail",
    "turn_tokens",
]
