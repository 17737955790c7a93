"""Pipelines taken apart: what fitted steps make of each raw column, and what a classifier makes of that."""
