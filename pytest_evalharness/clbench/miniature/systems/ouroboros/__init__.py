"""The adapter of an engine that runs beside: an engine process and a folder for each rollout, and the bridge between them."""
