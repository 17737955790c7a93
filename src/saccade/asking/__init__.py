"""One row, or many, whose values are fetched one by one, each at a price."""
