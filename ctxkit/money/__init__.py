"""What responses cost, and what of a request the cost falls on."""

from ctxkit.money.price_list import price_list_version
from ctxkit.money.prices import Rates, price, rates
from ctxkit.money.shares import Share, split

__all__ = ["Rates", "Share", "price", "price_list_version", "rates", "split"]
