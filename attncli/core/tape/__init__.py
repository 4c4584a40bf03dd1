"""The tape, its operations, and what reads it backwards or again."""
