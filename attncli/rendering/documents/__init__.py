"""Formulas of operations as a tree, as TeX and as MathML."""
