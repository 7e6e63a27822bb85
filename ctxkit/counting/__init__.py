"""What requests and texts count: in all, by kind, block by block. Reads no file and prints nothing."""

from ctxkit.counting.counts import count, count_text
from ctxkit.counting.files import count_file
from ctxkit.counting.report import CountedBlock, CountedRequest, CountReport

__all__ = ["CountReport", "CountedBlock", "CountedRequest", "count", "count_file", "count_text"]
