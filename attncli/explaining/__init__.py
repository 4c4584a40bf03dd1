"""How one number comes about, with the numbers put in."""
