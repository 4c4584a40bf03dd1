"""Attention over many tokens whose n × m scores are never all there; `attention` is the door."""
