"""Off-policy evaluation of decision tables on logged calls: estimates, their intervals, and what supports them. Pure."""
