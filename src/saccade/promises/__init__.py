"""What is vouched for: risks, Learn-then-Test, certificates."""
