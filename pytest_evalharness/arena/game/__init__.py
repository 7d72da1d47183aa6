"""The games that the league hosts, simulated, deterministic for a seed: here an eight-seat hidden-role match, in packages of their own two small ones."""
