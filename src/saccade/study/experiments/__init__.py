"""The paper's experiments, as functions that return plain records. What is drawn of them is the report's business."""
