"""What a page shows, and its writers."""
