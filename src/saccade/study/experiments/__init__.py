"""The paper's experiments, as functions that return plain records; the report draws them."""
