"""Pages about fitted models."""
