"""The report: records as an HTML page, as text and as JSON. Nothing is measured here."""
