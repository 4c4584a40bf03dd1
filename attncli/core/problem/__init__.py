"""A problem: its keys, their values, their shapes."""
