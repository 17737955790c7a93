"""Data files of any size: predict them, and learn from them, batch by batch."""
