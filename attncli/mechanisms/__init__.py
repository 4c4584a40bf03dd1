"""The field: a folder for each mechanism, and for each option that several of them take."""
