"""What this repository's own tests need, and nothing that a user would."""

pytest_plugins = ["pytester"]
