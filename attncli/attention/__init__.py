"""Parts of all mechanisms: scores, masks, normalisers, heads, and the lines that use them."""
