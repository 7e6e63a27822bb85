"""Counts with `litellm.token_counter`, for a model of OpenAI and for Claude."""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else importing it asks the network

import litellm
from peers.worker import Counter, work


class Gpt(Counter):
    """With tiktoken."""

    model = "gpt-5"

    def count(self, request: Any) -> int:
        """The tokens of all messages."""
        return litellm.token_counter(model=self.model, messages=request)


class Claude(Gpt):
    """With the tokenizer that litellm has for Claude."""

    model = "claude-sonnet-4-5"


if __name__ == "__main__":
    work({"gpt": Gpt, "claude": Claude}, packages=["litellm", "tiktoken", "tokenizers"])
