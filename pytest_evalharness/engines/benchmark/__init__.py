"""The benchmark: every engine fitted on the fit calls, scored on the calls it never saw, with a verdict for each."""
