"""Ports: what `app` needs from the outside, small enough to fake."""
