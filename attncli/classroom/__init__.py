"""Tells whose a file is, grades, and draws problems for a class."""
