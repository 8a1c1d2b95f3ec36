"""One browser for all tests of pages of a process: playwright allows no second one."""

from browser import browser

__all__ = ["browser"]
