"""Data files, read piece by piece: CSV, libsvm, Parquet, Arrow and NumPy."""

FORMATS = ("csv", "libsvm", "parquet", "arrow", "npy")
