"""What all mechanisms share: scores, masks, normalisers, heads, and how scores become weights."""
