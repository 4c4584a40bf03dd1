"""Whose file it is, grading, variants, exercises."""
