"""Sessions: which events a run may read, which models it is for, and what it leaves on record."""

from penstock.plan.sessions.limits import manifest_status, run_limits

__all__ = ["manifest_status", "run_limits"]
