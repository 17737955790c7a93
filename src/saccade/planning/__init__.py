"""From an additive model and some rows to a plan and its certificate."""
