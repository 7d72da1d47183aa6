"""Shared mechanics, each once: clock, deadline, files, text, database, events."""
