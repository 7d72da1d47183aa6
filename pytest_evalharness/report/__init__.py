"""One pure report of a run, and its renderings."""
