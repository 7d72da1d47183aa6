"""The league: who plays in it, what they asked to be played, and the playing of it. Knows nothing of HTTP."""
