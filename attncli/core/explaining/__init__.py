"""How each number was worked."""
