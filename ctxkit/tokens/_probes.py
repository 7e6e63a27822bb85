"""Texts on which a tokenizer must agree with the reference before it is used.

The counts were recorded, so that the reference need not be loaded to test another; a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

# The order of the counts.
TOKENIZERS = ("o200k_base", "cl100k_base", "v3", "v4.7", "v4.8")

# By tiktoken 0.14.0 and, without the frame of a message, by ctok 1.3.0, whose counts were the same as those
# of all 2,514 recorded answers of Anthropic's `count_tokens`. Recorded on 2026-11-30.
PROBES: Mapping[str, tuple[int, int, int, int, int]] = {
    "hello, world": (3, 3, 3, 4, 4),
    "The quick brown fox's 12345 friends said \"it's 3.14159\" and I'LL go.": (23, 25, 27, 31, 31),
    "<|endoftext|><|fim_prefix|>[INST]<s>": (16, 17, 19, 24, 24),
    "cut \ud83d here": (3, 3, 3, 4, 4),
    "   \t\t  \n\n\n   \r\n x \xa0\u3000 y  ": (9, 9, 13, 13, 13),
    "def f(x: int) -> None:\n    return [i ** 2 for i in range(x)]  # ✓\n": (26, 26, 31, 34, 34),
    '{"id": 7, "tags": ["a", "b"], "nested": {"ok": true, "value": null}}': (28, 28, 28, 36, 36),
    "2026-11-30T22:18:47Z ERROR [worker-3] Connection refused: 10.0.0.1:5432\n": (34, 34, 34, 42, 41),
    "\x1b[31mfail\x1b[0m\x00\x07": (11, 9, 9, 9, 9),
    "你好，世界。今天天气很好！": (9, 16, 14, 14, 13),
    "日本語のテキストとカタカナ。": (12, 14, 15, 15, 14),
    "한국어 문장입니다.": (6, 8, 11, 11, 10),
    "Привет, как дела? Ёлка.": (10, 13, 14, 14, 14),
    "مرحبا بالعالم ١٢٣": (8, 17, 16, 16, 16),
    "नमस्ते दुनिया": (5, 13, 11, 11, 11),
    "สวัสดีชาวโลก": (7, 13, 12, 12, 12),
    "naïve café Straße ÅNGSTRÖM e\u0301 ﬁ": (13, 15, 17, 24, 24),
    "👩\u200d👩\u200d👧 🇩🇪 👍🏽 😀😀": (17, 27, 29, 29, 28),
    "a" * 300: (38, 38, 101, 300, 300),
    " " * 300 + "x" + "=" * 100: (6, 7, 23, 27, 27),
    "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5": (24, 25, 35, 41, 41),
    "http://x.y/a/b//c?q=1&r=%20#frag": (16, 16, 22, 23, 23),
    "XMLHttpRequest camelCaseName SCREAMING_SNAKE kebab-case": (15, 14, 18, 32, 32),
    "½ ² Ⅷ ①٣ 𝟘𝟙 � \ue000 \U000e0041": (25, 27, 32, 32, 31),
}


def disagreement(count: Callable[[str], int], tokenizer: str) -> str | None:
    """What a tokenizer gets wrong, in one sentence; `None` where it agrees with the reference.

    Args:
        count: Counts with the tokenizer.
        tokenizer: Which column of `PROBES` it must agree with.
    """
    column = TOKENIZERS.index(tokenizer)
    for text, counts in PROBES.items():
        found = count(text)
        if found != counts[column]:
            return f"{text[:20]!a} is {found} tokens of {tokenizer}, not {counts[column]}"
    return None
