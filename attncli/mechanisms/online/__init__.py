"""Softmax by tiles of keys, as FlashAttention calculates it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.declare import KeyTests, Mechanism, Option, key
from attncli.core.numbers.forms import count, mapping


class Online(Option):
    """Softmax by tiles (Milakov and Gimelshein 2018; Dao 2023, FlashAttention-2)."""

    online = key(
        mapping({"tile": count()}, "online: {tile: 2}, so many keys at a time", needs=("tile",)),
        "softmax by tiles of keys, as FlashAttention calculates it: {tile: 2}",
        {},
        not_beside=("halves",),  # of which each would need its own
        instead={
            "online: {tile: 2}, so many keys at a time": (
                "tile tile_size block_size block_n kv_block_size flash flash_attention"
                " use_flash_attention use_flash_attn use_flash_attention_2 attn_implementation"
                " _attn_implementation flash_attention_2 online_softmax"
            )
        },
    )
    hides_weights = True
    step_names = "m l rescale"

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        settings = values["normalize"]
        is_usual = settings["name"] == "softmax" and settings.get("axis", "keys") == "keys"
        message = "online is softmax over the keys, without a sink"
        is_other = "online" in given and not (is_usual and "sink" not in settings)
        yield is_other, "online", message, "leave out online"

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It is for whole rows of scores, which mix values in one step."""
        return bool(kind.last)
