"""The embedded miniature: a small stand-alone program with the benchmark's commands, files and defects. Nothing imports it."""
