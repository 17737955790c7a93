"""Data files, read piece by piece: CSV, libsvm, Parquet, Arrow and NumPy."""
