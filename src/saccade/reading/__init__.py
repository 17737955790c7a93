"""Plans and readings, and how a plan is run over any storage."""
