"""The open catalogue of mistakes."""
