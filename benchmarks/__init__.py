"""Measurements of speed, and surveys of how students are judged who share no code with attn."""
