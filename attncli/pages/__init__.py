"""HTML pages that are looked at, practised on, changed."""
