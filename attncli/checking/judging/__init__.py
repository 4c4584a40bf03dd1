"""Whether a written number can be right."""
