"""The commands: each takes flags, does its work with the rooms below, and prints."""
