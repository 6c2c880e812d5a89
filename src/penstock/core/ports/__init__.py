"""Ports: what `app` needs from external systems, small enough to fake."""
