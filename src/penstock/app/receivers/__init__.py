"""Sends events of runs to other programs: OpenLineage backends, and webhooks after failures."""
