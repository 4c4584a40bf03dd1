"""Traces as documents to hand in: Markdown, LaTeX and one HTML page.

`sheets` says what stands in a document and in which order, `formulas` reads the notation of
operations; the other modules each write one format from these two.
"""
