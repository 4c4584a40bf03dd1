"""What was written: numbers as cells of steps."""
