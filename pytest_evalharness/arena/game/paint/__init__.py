"""Paint Arena: two painters on one canvas, the larger share wins."""
