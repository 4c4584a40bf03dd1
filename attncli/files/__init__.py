"""Readers of files: bytes to plain values with their places, and values to problems and answers."""
