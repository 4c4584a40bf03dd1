"""Comparison of handwork with the correct numbers: the first wrong number and its cause."""
