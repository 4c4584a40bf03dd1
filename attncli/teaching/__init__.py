"""For teachers: fair variants of a problem, and how much work they are."""
