"""Readers run a plan over one kind of storage."""
