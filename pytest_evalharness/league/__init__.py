"""The league A/B: plan, field, seats, arms, trust and the one runner behind plugin and command line."""
