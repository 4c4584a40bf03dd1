"""From a problem to its trace: one short file a mechanism."""
