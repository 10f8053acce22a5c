"""The plan of a study: every trial there will be, what it costs, and what could stop it."""

from fmim.plan.plan import Plan

__all__ = ["Plan"]
