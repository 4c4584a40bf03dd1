"""Slips: one number or one line that went wrong, and the small thing that explains it."""
