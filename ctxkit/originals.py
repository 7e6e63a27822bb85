"""The full texts of tool results that were cut, kept under handles so that a model can read them again.

How a model reads them is the work of `ctxkit.recall` and `RecallToolResults`.
"""

from __future__ import annotations

from hashlib import blake2b

from ctxkit.condense.base import CALL_AGAIN
from ctxkit.flow import Flow
from ctxkit.messages import ModelRequest
from ctxkit.stores.base import Store, check_positive
from ctxkit.stores.entries import namespace_prefix
from ctxkit.stores.memory import MemoryStore
from ctxkit.tasks import note_fault

RECALL_TOOL = "recall_tool_result"
"""The name of the tool that reads originals; what it gives back is not to be cut again."""


class Originals:
    """Keeps whole texts under short handles that hold nothing of the text.

    A handle stands for a namespace and a text: the same two give the same handle in every process, and a
    handle of another namespace leads nowhere.

    Args:
        store: Where the texts are kept; a store in memory of its own where left out.
        namespace: Keeps the texts of users, or of working copies, apart.
        ttl_seconds: How long a text is kept after it was last put; while there is room where left out.

    Attributes:
        recallable: Whether a tool that reads these texts was given to a model.

    Raises:
        ConfigError: The time to live is not above zero.
    """

    def __init__(
        self, store: Store | None = None, *, namespace: str = "", ttl_seconds: float | None = None
    ) -> None:
        check_positive(ttl_seconds, "ttl_seconds")
        self.store: Store = MemoryStore() if store is None else store
        self.namespace = namespace
        self.ttl_seconds = ttl_seconds
        self.recallable = False

    def handle(self, text: str) -> str:
        """What stands for a text; the same for the same text."""
        spelled = f"{self.namespace}\0{text}".encode("utf-8", "surrogatepass")
        return f"r-{blake2b(spelled, digest_size=8).hexdigest()}"

    def keep(self, text: str) -> Flow[str]:
        """Keep a text and give its handle; an empty one where the store fails or has no room for it."""
        handle = self.handle(text)
        value = text.encode("utf-8", "surrogatepass")
        try:
            kept = yield from self.store.put(self._key(handle), value, ttl_seconds=self.ttl_seconds)
        except Exception as error:
            note_fault(f"Originals: {type(error).__name__}", error, so="a text that is cut is not kept")
            return ""
        return handle if kept else ""

    def get(self, handle: str) -> Flow[str | None]:
        """The text of a handle; `None` where it is unknown, or no longer kept."""
        value = yield from self.store.get(self._key(handle))
        return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else None

    def readable_in(self, request: ModelRequest) -> bool:
        """Whether a request gives the model the tool that reads the texts, whoever put it there."""
        return any(block.tool == RECALL_TOOL for block in request.tools)

    def how(self, handle: str) -> str:
        """How the model reads a text on, as the end of a note's sentence."""
        return f'read it with {RECALL_TOOL}(handle="{handle}")' if handle else CALL_AGAIN

    def _key(self, handle: str) -> str:
        return f"original{namespace_prefix(self.namespace)}{handle}"
