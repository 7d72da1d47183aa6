"""The embedded Observatory: a real game, a league and its HTTP interface, on the loopback."""
