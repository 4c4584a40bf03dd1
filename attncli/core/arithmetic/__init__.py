"""Arithmetic on floats, intervals and elements that remember."""
