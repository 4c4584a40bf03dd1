"""Bytes to values with places."""
