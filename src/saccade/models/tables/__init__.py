"""Models over raw columns: each column, or pair of them, contributes what a table or a function says of its value."""
