"""The tape: operations, named steps, and ways to evaluate, walk, replay and name them."""
