"""Plain text: widths on a terminal, safe display, suggestions, numbers, elision."""
