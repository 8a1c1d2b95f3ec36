"""Money: what a batch costs per token, on which day, from which source; a request's bill and its bound."""

from runner.pricing.bill import CACHE_FROM_TOKENS, bound, cost, cost_expr, estimate_expr
from runner.pricing.lookup import highest_price, price, price_changes, standard_price
from runner.pricing.rates import MILLION, Price, Rates

__all__ = [
    "CACHE_FROM_TOKENS",
    "MILLION",
    "Price",
    "Rates",
    "bound",
    "cost",
    "cost_expr",
    "estimate_expr",
    "highest_price",
    "price",
    "price_changes",
    "standard_price",
]
