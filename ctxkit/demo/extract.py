"""Takes the demo's recording out of the shared corpus again, so that its origin can be checked.

```sh
python -m ctxkit.demo.extract ../shared/data | cmp - ctxkit/demo/data/change_flight.jsonl
```
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

FAMILY = Path("transcripts", "tau2_gpt41.jsonl.gz")
ID = "tau2-airline-default-920a69e8"


def extract(data: Path) -> bytes:
    """The recording's line of the corpus, byte for byte.

    Args:
        data: The corpus's folder.

    Raises:
        LookupError: The corpus does not hold the recording.
    """
    with gzip.open(data / FAMILY) as lines:
        for line in lines:
            if json.loads(line)["id"] == ID:
                return line
    raise LookupError(f"{data / FAMILY} holds no recording {ID!r}")


if __name__ == "__main__":  # pragma: no cover - a test runs it, in a process of its own
    sys.stdout.buffer.write(extract(Path(sys.argv[1])))
