"""A page about a fitted model, and its plots."""
