"""Random numbers for problems: new ones, and others like those of a given problem."""
