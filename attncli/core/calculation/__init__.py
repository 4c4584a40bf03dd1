"""One short file for each mechanism, and what computes a problem."""
