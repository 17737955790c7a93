"""What users bring, taken apart into additive models."""
