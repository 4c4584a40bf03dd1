"""Traces and reports to pages: one model of a page, and a writer for each format."""
