"""Money: what a batch costs per token, on which day, from which source; a request's bill and its bound.

A bound is of batch prices: it cannot foresee that a provider serves a row outside of its batch. Such a row costs its
``standard_price``, and the bill of a run may then pass the bound; what is bought afterwards counts the true bill.
"""

from runner.pricing.bill import CACHE_FROM_TOKENS, bound_expr, cost, cost_expr, estimate_expr
from runner.pricing.lookup import highest_price, price, price_changes, standard_price
from runner.pricing.rates import MILLION, Price, Rates

__all__ = [
    "CACHE_FROM_TOKENS",
    "MILLION",
    "Price",
    "Rates",
    "bound_expr",
    "cost",
    "cost_expr",
    "estimate_expr",
    "highest_price",
    "price",
    "price_changes",
    "standard_price",
]
