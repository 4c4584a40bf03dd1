"""Surveys of many submissions: a sample runs in the tests, thousands by scripts in benchmarks/."""
