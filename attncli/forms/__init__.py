"""How values are written: each form reads raw values, and has its part of the JSON Schema."""
