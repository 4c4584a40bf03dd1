"""What was written, whether it can be right, and what went wrong."""
