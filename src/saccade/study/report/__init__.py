"""From records to one page that people want to read. Nothing is measured here."""
