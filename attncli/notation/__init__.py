"""Formulas as trees: written numbers become them, operations give them, formats print them."""
