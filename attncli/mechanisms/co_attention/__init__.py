"""Two sentences that attend to each other."""

from __future__ import annotations

from attncli.core.declare import Implied, Mechanism, key
from attncli.core.numbers.forms import TRUTH
from attncli.mechanisms.attention import SCORING


class CoAttention(Mechanism):
    """Soft alignment (Parikh et al. 2016, section 3.1; Chen et al. 2017, section 3.2)."""

    meaning = "the tokens of X and those of memory attend to each other"

    enhance = key(TRUTH, "whether to give [a; ã; a − ã; a ⊙ ã], too")

    takes = ("X", "memory")
    also_takes = ("bias", *SCORING, "tokens_as", "memory_tokens", "mask")
    requires = ("X", "memory")
    implied = (Implied("d_q", "d_model"), Implied("d_k", "d_memory"), Implied("d_v", "d_memory"))
    by_position = False
    step_names = "aligned enhanced"
