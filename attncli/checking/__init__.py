"""Hand-worked answers against the right ones: the first wrong number, and what went wrong."""
