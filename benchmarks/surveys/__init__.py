"""Surveys: submissions drawn at random and judged, and pages compared with the program.

The modules whose names begin with `test_` are run by `python -m pytest benchmarks/surveys`; with
`--record` they write a sample of what was judged to `tests/data/submissions`, which the suite
judges again. The others are run with thousands by the scripts of `benchmarks/`.
"""
