"""What responses cost, and what of a request the cost falls on."""

from ctxkit.money.price_list import Sizes, price_list_version, prompt_sizes
from ctxkit.money.prices import Rates, price, rates
from ctxkit.money.shares import Share, split

__all__ = ["Rates", "Share", "Sizes", "price", "price_list_version", "prompt_sizes", "rates", "split"]
