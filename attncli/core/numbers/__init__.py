"""Written numbers, and the forms in which values may be written."""
