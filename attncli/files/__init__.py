"""Bytes of files to plain values with their places, and these to problems and answers."""
