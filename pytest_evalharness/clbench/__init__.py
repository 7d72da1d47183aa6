"""CL-Bench: published runs of the continual-learning benchmark read, checked and scored."""
