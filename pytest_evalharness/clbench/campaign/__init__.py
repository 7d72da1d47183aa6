"""Campaigns of CL-Bench: planned, checked before the first dollar, run, watched and salvaged in the user's own checkout."""
