"""The problems that attention modules of PyTorch and of Hugging Face's transformers calculate.

torch is not imported: modules and tensors are known by their attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from inspect import signature
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.angles import SCALINGS, Scaling, Waves
from attncli.core.attention.masks import BLOCKING, is_kept
from attncli.core.errors import fail
from attncli.core.numbers.matrices import readable
from attncli.core.problem.keys import OF_TWO_TEXTS
from attncli.core.problem.problem import Problem

LIKE_LLAMA = ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma2", "GptOss")
READABLE: Mapping[str, tuple[str, ...]] = {
    "MultiheadAttention": (),
    "GPT2Attention": ("c_attn", "c_proj"),
    "BertAttention": ("self.query", "self.key", "self.value", "output.dense"),
    "BertSelfAttention": ("query", "key", "value"),
    "T5Attention": ("q", "k", "v", "o"),
    **{f"{name}Attention": ("q_proj", "k_proj", "v_proj", "o_proj") for name in LIKE_LLAMA},
}
"""The classes of modules that `from_torch` reads, each with the names of its projections."""

MAX_COSINE_ERROR = 0.01
"""Maximum error of the cosines of RoPE in a module's call; those of bfloat16 are off 0.004."""


def from_torch(
    module: object, *inputs: object, answers: bool = False, **arguments: object
) -> Problem:
    """Return the problem that an attention module calculates when it is called.

    Args:
        module: an `nn.MultiheadAttention`, or one of transformers 5 whose class is in `READABLE`.
        inputs: what the module is called with, first the tokens (batch, n, features).
        answers: whether to call the module and keep its numbers as the key `answers`: `output`
            (batch, n, features), `weights` (batch, heads, n, m), unless it gives none, and of
            transformers `Q`, `K` and `V` (batch, n, heads · d).
        arguments: what the module is called with by name, such as masks.

    Raises:
        InputError: for a module of another class, and for a call that no problem can express.
    """
    name = next((one.__name__ for one in type(module).__mro__ if one.__name__ in READABLE), "")
    if not name:
        hint = f"it reads {', '.join(READABLE)}; of others, write the keys, with weights_as: out_in"
        raise fail(f"from_torch cannot read the class {type(module).__name__}", hint=hint)
    forward: Any = getattr(module, "forward")  # noqa: B009 - no type of torch is known here
    call = dict(signature(forward).bind_partial(*inputs, **arguments).arguments)
    call |= call.pop("kwargs", {})
    keys = (_of_transformers if READABLE[name] else _of_torch)(module, READABLE[name], call)
    if not answers:
        return Problem(**keys)
    # NumPy has no bfloat16, so that the arrays do not tell.
    kinds = {str(getattr(value, "dtype", "")) for value in call.values()}
    marking = {"dtype": "bfloat16"} if "torch.bfloat16" in kinds else None
    return Problem(**keys, answers=_answers(module, READABLE[name], call), marking=marking)


def _of_torch(module: Any, _: object, call: dict[str, Any]) -> Any:
    """Return the keys of an `nn.MultiheadAttention`; complete the arguments of its call."""
    call.setdefault("key", call["query"])
    call.setdefault("value", call["key"])
    call |= {"need_weights": True, "average_attn_weights": False}
    sides = ("query", "key", "value")
    x, memory, other = (_array(call[side], not module.batch_first) for side in sides)
    if module.bias_k is not None or module.add_zero_attn:
        raise fail("add_bias_kv and add_zero_attn add a key that is no token, which no problem has")
    if not np.array_equal(memory, other):
        raise fail("key and value are different tensors, but a problem has one memory for both")
    weights, bias, out = module.in_proj_weight, module.in_proj_bias, module.out_proj
    apart = [getattr(module, f"{side}_proj_weight") for side in "qkv"]
    weights, biases = weights.chunk(3) if apart[0] is None else apart, (None,) * 3
    pairs = [*zip(weights, biases if bias is None else bias.chunk(3), strict=True)]
    mask, padding = (_added(call.get(f"{word}_mask"), True) for word in ("attn", "key_padding"))
    if mask.ndim == 3:  # (batch · heads, n, m)
        mask = mask.reshape(-1, module.num_heads, *mask.shape[1:])
    added = mask + (padding[:, None, None, :] if padding.ndim == 2 else padding)
    return _keys(x, memory, module.num_heads, [*pairs, (out.weight, out.bias)], added)


def _of_transformers(module: Any, paths: Iterable[str], call: dict[str, Any]) -> Any:
    """Return the keys of a module of transformers; leave an empty cache out of its call."""
    attention = getattr(module, "self", module)  # in BertAttention this one has the scores
    past, known = call.pop("past_key_values", None), signature(module.forward).parameters.keys()
    left_out = ({"attention_mask", "mask", "position_embeddings"} & known) - call.keys()
    if attention.is_causal and left_out:
        message = f"{type(module).__name__} is called with {' and '.join(sorted(left_out))}, too"
        raise fail(message, hint="a forward hook with_kwargs=True gets all that the model gives it")
    if call.get("encoder_hidden_states") is not None or (past and past.get_seq_length()):
        message = "attention to encoder_hidden_states, or to a cache with tokens, cannot be read"
        raise fail(message, hint="call the model on all tokens, with use_cache=False")
    pairs = [(part.weight, part.bias) for part in map(module.get_submodule, paths)]
    if len(pairs) == 2:  # Conv1D stores (in, out); queries, keys and values are side by side
        (weight, bias), (last, last_bias) = pairs
        pairs = [*zip(weight.T.chunk(3), bias.chunk(3), strict=True), (last.T, last_bias)]
    x, memory, config = call["hidden_states"], call.get("key_value_states"), attention.config
    x, memory = _array(x), _array(x if memory is None else memory)
    n, m = x.shape[1], memory.shape[1]
    mask, bias = call.get("attention_mask", call.get("mask")), call.get("position_bias")
    if bias is None and getattr(attention, "has_relative_attention_bias", False):
        bias = attention.compute_bias(n, m)
    added = _added(mask, False) + _added(bias, False)
    if mask is None and attention.is_causal and config._attn_implementation != "eager":
        added = np.where(np.tri(n, m), added, -np.inf)
    window = getattr(config, "sliding_window", None) or 0
    keys = _keys(x, memory, config.num_attention_heads, pairs, added, window)
    return keys | _options(attention, call, n, len(keys["W_q"]) // keys["heads"])


def _options(attention: Any, call: Mapping[str, Any], n: int, d: int) -> dict[str, Any]:
    keys = {"softcap": getattr(attention, "attn_logit_softcapping", None)}
    keys["scale"] = None if np.isclose(attention.scaling, d**-0.5) else attention.scaling
    if hasattr(attention, "sinks"):
        keys["normalize"] = {"name": "softmax", "sink": _array(attention.sinks)}
    if hasattr(attention, "q_norm"):
        gains = {"g_q": _array(attention.q_norm.weight), "g_k": _array(attention.k_norm.weight)}
        keys["qk_norm"] = {"name": "rms", "eps": attention.q_norm.variance_epsilon, **gains}
    if "position_embeddings" in call:
        keys["positions"] = _rope(attention.config.rope_parameters, call, n, d)
    return keys


def _rope(rope: Mapping[str, Any], call: Mapping[str, Any], n: int, d: int) -> dict[str, Any]:
    """Return the rows of `positions` that give the cosines of a call, for n tokens, d features."""
    base, kind = float(rope["rope_theta"]), rope.get("rope_type", "default")
    ids = [*range(n)] if (ids := call.get("position_ids")) is None else _array(ids[0]).tolist()
    start = int(ids[0])
    settings = {"name": "rope", "base": base, "pairs": "halves"}
    settings |= {"start": start} if ids == [*range(start, start + n)] else {"ids": ids}
    scaling = {"kind": kind} if kind in SCALINGS else {}
    scaling |= {x: rope[x] for x in Scaling.fields if scaling and rope.get(x) is not None}
    waves = Waves(d, base, ids=(tuple(ids),), scaling=Scaling(**scaling) if scaling else None)
    cosines = _array(call["position_embeddings"][0])[..., : d // 2]
    if abs(cosines - waves.of("cos", waves.angles(n))).max() > MAX_COSINE_ERROR:
        message = f"position_embeddings are not those of RoPE with base {base:g} from {start}"
        hint = "angles may be scaled as linear, llama3 and yarn do; ids are those of every text"
        raise fail(message, hint=hint)
    return settings | ({"scaling": scaling} if scaling else {})


def _keys(
    x: Array, memory: Array, heads: int, pairs: Any, added: Array, window: int = 0
) -> dict[str, Any]:
    """Return the keys of tokens, of weights (out, in) with biases, and of what scores are added."""
    keys: dict[str, Any] = {"X": x, "heads": heads, "weights_as": "out_in"}
    keys |= {} if np.array_equal(x, memory) else {"kind": OF_TWO_TEXTS, "memory": memory}
    for side, (weight, bias) in zip("qkvo", pairs, strict=False):
        keys |= {f"W_{side}": _array(weight), f"b_{side}": None if bias is None else _array(bias)}
    keys["kv_heads"] = heads * len(keys["W_k"]) // len(keys["W_q"])
    blocked, n, m = added <= BLOCKING, x.shape[-2], memory.shape[-2]
    if np.isfinite(added).all() and blocked.all(axis=-1).any():
        blocked = np.zeros_like(blocked)  # one low number for all of a row blocks nothing
    keys["bias"] = bias if (bias := np.where(blocked, 0, added)).any() else None
    keys["mask"] = {"block": blocked} if blocked.any() else None
    for mask in ({"causal": True, "window": (window - 1, 0)}, {"causal": True}):
        if n == m > 1 and np.all(is_kept(mask, n, m) != blocked):
            keys["mask"] = mask
    return keys


def _added(mask: Any, blocks: bool) -> Array:
    """Return what a mask adds to the scores; in a boolean one, `blocks` is what blocks."""
    array = np.zeros(1) if mask is None else _array(mask)
    return np.where(array == blocks, -np.inf, 0.0) if array.dtype == bool else array


def _answers(module: Any, paths: Iterable[str], call: Mapping[str, Any]) -> dict[str, Array]:
    if module.training:
        raise fail("a module drops numbers while it is trained", hint="call module.eval() before")
    outputs: dict[str, Any] = dict.fromkeys(paths)
    with ExitStack() as hooks:
        for path in paths:
            part = module.get_submodule(path)
            keep = lambda *call, path=path: outputs.update({path: call[-1]})  # noqa: E731
            hooks.enter_context(part.register_forward_hook(keep))
        output, *_, weights = module(**call)
    steps = [*outputs.values()]
    steps[:-1] = steps[0].chunk(3, -1) if len(steps) == 2 else steps[:-1]
    answers = {"output": _array(output, not getattr(module, "batch_first", True))}
    answers |= {} if weights is None else {"weights": _array(weights)}
    names = zip(("Q", "K", "V", "output"), steps, strict=False)
    return answers | {name: _array(step) for name, step in names}


def _array(tensor: Any, is_batch_second: bool = False) -> Array:
    array = np.asarray(readable(tensor))
    return array.swapaxes(0, 1) if is_batch_second and array.ndim == 3 else array
