"""Providers' prompt caches: what requests share, and whether having it kept lowers the expected cost."""

from runner.caching.plan import Caching, matters, plan
from runner.caching.prefixes import PREFIX_ORDER, beginning
from runner.caching.rules import Lifetime, Rules, rules_of

__all__ = ["PREFIX_ORDER", "Caching", "Lifetime", "Rules", "beginning", "matters", "plan", "rules_of"]
