"""Floats with care, and values in their place: intervals, rounded numbers, recording elements."""
