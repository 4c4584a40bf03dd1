"""Attention over many tokens, a tile of scores at a time, without its n × m steps."""
