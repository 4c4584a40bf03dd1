"""Formulas as trees: parsed from written numbers, built by operations, printed by formats."""
