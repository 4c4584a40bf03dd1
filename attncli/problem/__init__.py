"""What a problem is: its keys, how each is read, which kinds take it, and its shapes."""
