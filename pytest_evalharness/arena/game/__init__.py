"""The game: an eight-seat hidden-role match, simulated event by event, deterministic for a seed."""
