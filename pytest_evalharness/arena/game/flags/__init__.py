"""Capture the Flag: two sides of two seats, each held by one captain."""
