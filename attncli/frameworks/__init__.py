"""Problems made from the modules of machine learning frameworks, of which none is imported."""
