"""The catalogue of mistakes: each is the same operation with one thing done wrong."""
