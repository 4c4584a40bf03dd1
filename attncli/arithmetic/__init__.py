"""Numbers and what stands in their place: floats with care, intervals, rounding, elements."""
