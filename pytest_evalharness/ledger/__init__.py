"""The journal: plans, claims on work, arms, blocks and verdicts in one sqlite file; survives `kill -9`."""
