"""The systems under test: one that learns, one that forgets, and the adapter of an engine beside."""
