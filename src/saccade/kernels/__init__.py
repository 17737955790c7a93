"""Numba kernels: arrays and scalars in and out, no classes, no scikit-learn, no input or output."""
