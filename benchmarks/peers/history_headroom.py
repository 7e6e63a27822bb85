"""headroom's `compress` before every call, with its defaults."""

from __future__ import annotations

from headroom import compress
from peers.history_worker import Message, Policy, work


class Compress(Policy):
    """The whole history, compressed anew."""

    def send(self, length: int) -> list[Message]:
        """What it makes of the messages."""
        return compress(self.messages[:length], model="claude-sonnet-4-5-20250929").messages


if __name__ == "__main__":
    work({"compress": Compress}, packages=["headroom-ai"])
