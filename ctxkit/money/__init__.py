"""What responses cost, and what of a request the cost falls on."""

from ctxkit.money.prices import price, price_list_version
from ctxkit.money.shares import Share, split

__all__ = ["Share", "price", "price_list_version", "split"]
