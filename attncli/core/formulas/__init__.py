"""Formulas as a tree, and its printers."""
