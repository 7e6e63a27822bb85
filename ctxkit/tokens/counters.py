"""Counters of text: which of them counts for a model, of those that are installed and can be trusted.

Blocks are counted in `blocks`, requests in `shape`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from ctxkit.tokens._probes import disagreement
from ctxkit.tokens._vocabulary import EncodingName
from ctxkit.tokens.ctok_counter import CtokCounter
from ctxkit.tokens.encoding_counter import EncodingCounter, TiktokenCounter
from ctxkit.tokens.encodings import ClaudeFamily, Tokenization, tokenization_of
from ctxkit.tokens.protocol import Counter, Engine, FunctionCounter, ModelCounter, ScaledCounter, Tokenizer
from ctxkit.tokens.text_kinds import Vocabulary, claude_ratio
from ctxkit.tokens.tiktoken_engine import TiktokenEngine
from ctxkit.tokens.toktok_engine import ToktokEngine

__all__ = [
    "Counter",
    "Counters",
    "EncodingCounter",
    "FunctionCounter",
    "ModelCounter",
    "TiktokenCounter",
    "Tokenizer",
    "counter_for",
]

_log = logging.getLogger("ctxkit")


class Counters:
    """The counters of all models, made of what can be imported and agrees with the reference.

    A package is imported and tested when it is first needed. One that fails its test is left out with one
    warning in the log. May serve many threads.

    Args:
        import_module: Imports `toktok` and `ctok`; raises `ImportError` where one is not to be used.
    """

    def __init__(self, *, import_module: Callable[[str], Any] = import_module) -> None:
        self._import_module = import_module
        self._lock = threading.Lock()
        self._engines: dict[EncodingName, Engine] = {}
        self._usable: dict[ClaudeFamily, bool] = {}
        self._left_out: set[str] = set()
        self._by_tokenization: dict[Tokenization, ModelCounter] = {}

    def for_model(self, model: str | None) -> ModelCounter:
        """The counter that comes nearest to a model's own: see `counter_for`."""
        tokenization = tokenization_of(model)
        found = self._by_tokenization.get(tokenization)
        return found or self._by_tokenization.setdefault(tokenization, self._made(tokenization))

    def _made(self, tokenization: Tokenization) -> ModelCounter:
        base = self._encoding(tokenization)
        if tokenization.claude:
            if self._is_usable(tokenization.claude):
                return self._ctok(tokenization.claude, base, exact=tokenization.own)
            return _claude("v3" if tokenization.claude == "v3" else "v4.7", base)
        return base

    def _encoding(self, tokenization: Tokenization) -> EncodingCounter:
        return EncodingCounter(tokenization.encoding, engine=self._engine, exact=tokenization.own)

    def _engine(self, encoding: EncodingName) -> Engine:
        with self._lock:
            if encoding not in self._engines:
                self._engines[encoding] = self._best_engine(encoding)
            return self._engines[encoding]

    def _best_engine(self, encoding: EncodingName) -> Engine:
        fast = EncodingCounter(encoding, engine=partial(ToktokEngine, import_module=self._import_module))

        def wrong() -> str | None:
            tokens = disagreement(lambda text: len(fast.tokens(text)), encoding)
            return tokens or disagreement(fast.count, encoding)

        return fast.engine if self._is_right("toktok", wrong) else TiktokenEngine(encoding)

    def _ctok(self, family: ClaudeFamily, base: Counter, *, exact: bool) -> CtokCounter:
        return CtokCounter(family, token_count=self._token_count, base=base, exact=exact)

    def _token_count(self, text: str, version: str) -> int:
        count: int = self._import_module("ctok").token_count(text, version)
        return count

    def _is_usable(self, family: ClaudeFamily) -> bool:
        count = self._ctok(family, TiktokenCounter(), exact=True).count
        with self._lock:
            if family not in self._usable:
                self._usable[family] = self._is_right("ctok", lambda: disagreement(count, family))
            return self._usable[family]

    def _is_right(self, package: str, wrong: Callable[[], str | None]) -> bool:
        """Whether a package is installed and nothing is wrong with it; if something is, it is logged once."""
        try:
            reason = wrong()
        except ImportError:
            return False
        except Exception as error:
            reason = repr(error)
        if reason and package not in self._left_out:
            self._left_out.add(package)
            _log.warning("%s is left out, tokens are counted without it: %s", package, reason)
        return not reason


def _claude(vocabulary: Vocabulary, base: Counter) -> ScaledCounter:
    return ScaledCounter(base, partial(claude_ratio, vocabulary=vocabulary), name=f"claude-{vocabulary}")


def _nothing(name: str) -> NoReturn:
    raise ImportError(f"{name} is not used by the reference", name=name)


_INSTALLED = Counters()
_REFERENCE = Counters(import_module=_nothing)


def counter_for(model: str | None, *, reference: bool = False) -> ModelCounter:
    """The counter that comes nearest to a model's own, shared by the whole process.

    OpenAI's models are counted with their own encoding, by toktok where it is installed (the extra `fast`)
    and else by tiktoken: the same counts. Claude's are counted by ctok where it is installed (the extra
    `claude`), and else estimated from o200k_base by the kinds of content in the text. Gemini's are
    estimated as well, and all others count as o200k_base.

    Args:
        model: A model's name, also as a router, a cloud or a fine-tune spells it; `None` where it is unknown.
        reference: Whether to count with tiktoken alone, whatever else is installed.

    Returns:
        A counter. Its `name` tells how it counts, and `exact` whether that is the model's own way.
    """
    return (_REFERENCE if reference else _INSTALLED).for_model(model)
