"""Taggers: who reads a call's moves and states. Cue phrases, a judge, or a decision model."""
