"""Tests of the experiments and of the page."""
