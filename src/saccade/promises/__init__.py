"""What is vouched for: promises, exact tests, Learn-then-Test, certificates."""
