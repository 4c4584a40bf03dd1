"""From a problem to its trace: one short file per mechanism."""
