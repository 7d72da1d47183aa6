"""The four invented tasks: what they ask, what they answer, what an instance earns."""
