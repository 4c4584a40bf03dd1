"""The layers in names: `layers.2.scores`, `d_layers.2.W_1`."""

import re

OF_LAYER = re.compile(r"(?<![^_])layers\.(\d+)\.")
"""What begins the name of a step, an input or a key that is of one of several layers."""
