"""Models as files that are safe to load: arrays and JSON, read, audited, and only then built."""
