"""Scores, masks, normalisers, positions: what methods of attention are made of."""
