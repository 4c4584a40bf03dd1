"""Problems: their keys, the reader of each key, the kinds that take it, and their shapes."""
