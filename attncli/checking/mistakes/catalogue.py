"""The catalogue of mistakes: each is the same operation with one thing done wrong.

A mistake looks at how a step is made and yields what somebody would calculate instead; whether
that is what a student did is for the numbers to say. To add one: write a function that takes a
step and the calculation and yields changes (steps by name, each with another expression), give it
a row in `MISTAKES`, and a student who makes it in `tests/students.py`.

The order of the rows is the order in which explanations are preferred: the simpler first.
"""

from __future__ import annotations

from attncli.checking.mistakes.changes import Change, Changes, by_line, by_rule
from attncli.checking.mistakes.of_masks import (
    blocked_counted,
    mask_after_softmax,
    mask_as_zero,
    mask_inverted,
    mask_missing,
    mask_off_by_one,
    mask_transposed,
)
from attncli.checking.mistakes.of_output import (
    attention_transposed,
    equal_weights,
    head_missing,
    heads_averaged,
    heads_in_wrong_order,
    heads_interleaved,
    heads_summed,
    input_added,
    input_instead_of_values,
    other_values,
    shared_heads_alternate,
    step_transposed,
    w_o_missing,
)
from attncli.checking.mistakes.of_scale import (
    cap_not_restored,
    earlier_step_used,
    not_scaled,
    scale_inverted,
    scaled_after_softmax,
    scaled_by,
    scaled_needlessly,
    scaled_twice,
)
from attncli.checking.mistakes.of_scores import (
    bias_missing,
    bias_subtracted,
    distance_not_squared,
    elementwise_product,
    factors_exchanged,
    half_forgotten,
    joined_in_wrong_order,
    key_not_transposed,
    lengths_forgotten,
    one_length_forgotten,
    projection_missing,
    root_forgotten,
    scores_transposed,
    sign_of_distance,
    swapped,
    tanh_missing,
    weights_matrix_transposed,
    wrong_source,
    wrong_weight_matrix,
)
from attncli.checking.mistakes.of_weights import (
    exponent_sign,
    not_exponentiated,
    not_normalized,
    scores_as_weights,
    softmax_over_all,
    softmax_over_queries,
    softmax_twice,
    temperature_inverted,
    temperature_missing,
    wrong_base,
)
from attncli.records import Record

__all__ = ["MISTAKES", "Change", "Mistake"]


class Mistake(Record):
    """One row of the catalogue.

    Attributes:
        changes: yields what would be calculated instead in a step, with the words that the
            sentence leaves open.
        sentence: what was done. `{step}` and `{formula}` are those of the step in which it was.
        advice: what to do.
    """

    changes: Changes
    sentence: str
    advice: str


MISTAKES: dict[str, Mistake] = {
    "not_scaled": Mistake(
        by_rule(not_scaled), "The scores were not scaled.", "Calculate {formula}."
    ),
    "scaled_by_d_k": Mistake(
        scaled_by("d_k"),
        "The scores were divided by {by}, not by {right}.",
        "Take the root of d_k.",
    ),
    "scaled_by_sqrt_d_model": Mistake(
        scaled_by("√d_model"),
        "The scores were divided by {by}, not by {right}.",
        "Scale by the size of one head's key, not by the width of the input.",
    ),
    "scaled_by_sqrt_n": Mistake(
        scaled_by("√m", "√n"),
        "The scores were divided by {by}, not by {right}.",
        "Scale by the size of a key, not by the number of tokens.",
    ),
    "scaled_twice": Mistake(by_rule(scaled_twice), "The scores were scaled twice.", "Scale once."),
    "scale_inverted": Mistake(
        by_rule(scale_inverted),
        "The scale was applied the wrong way round.",
        "Calculate {formula}.",
    ),
    "scaled_needlessly": Mistake(
        scaled_needlessly,
        "The scores were divided by √d_k, {when}.",
        "Leave the scores as they are in this step.",
    ),
    "scores_transposed": Mistake(
        scores_transposed,
        "The scores stand transposed: queries and keys have changed places.",
        "Keep the order of {formula}.",
    ),
    "key_not_transposed": Mistake(
        by_rule(key_not_transposed),
        "The keys were not transposed.",
        "Take the dot product of every query with every key.",
    ),
    "weights_matrix_transposed": Mistake(
        by_rule(weights_matrix_transposed),
        "The weight matrix was transposed.",
        "Multiply by the matrix as it is written.",
    ),
    "factors_exchanged": Mistake(
        by_rule(factors_exchanged),
        "The factors of the product have changed places.",
        "Keep the order of {formula}: A B is not B A.",
    ),
    "elementwise_product": Mistake(
        by_rule(elementwise_product),
        "The matrices were multiplied number by number.",
        "Multiply rows by columns and add up.",
    ),
    "projection_missing": Mistake(
        by_rule(projection_missing),
        "The product with the weight matrix was left out.",
        "Calculate {formula}.",
    ),
    "wrong_weight_matrix": Mistake(
        wrong_weight_matrix,
        "{step} was made with {used}, not with {right}.",
        "Queries come from W_q, keys from W_k, values from W_v.",
    ),
    "swapped_q_k": Mistake(
        swapped("Q", "K"), "Q and K have changed places.", "Queries come from W_q, keys from W_k."
    ),
    "swapped_k_v": Mistake(
        swapped("K", "V"), "K and V have changed places.", "Keys come from W_k, values from W_v."
    ),
    "swapped_q_v": Mistake(
        swapped("Q", "V"), "Q and V have changed places.", "Queries come from W_q, values from W_v."
    ),
    "wrong_source": Mistake(
        wrong_source,
        "{step} was made from {used}, not from {right}.",
        "Queries come from X, keys and values from memory.",
    ),
    "bias_missing": Mistake(by_rule(bias_missing), "The bias was not added.", "Add the bias."),
    "bias_subtracted": Mistake(
        by_rule(bias_subtracted), "The bias was subtracted.", "Add the bias."
    ),
    "tanh_missing": Mistake(
        by_rule(tanh_missing), "The tanh was left out.", "Take the tanh of every number."
    ),
    "joined_in_wrong_order": Mistake(
        by_rule(joined_in_wrong_order),
        "The two parts were put together in the wrong order.",
        "Keep the order of the formula: [a; b] is not [b; a].",
    ),
    "lengths_forgotten": Mistake(
        by_rule(lengths_forgotten),
        "The dot products were not divided by the lengths of the vectors.",
        "Divide q·k by ‖q‖ ‖k‖.",
    ),
    "one_length_forgotten": Mistake(
        by_rule(one_length_forgotten),
        "The dot products were divided by one of the two lengths.",
        "Divide q·k by ‖q‖ and by ‖k‖.",
    ),
    "root_forgotten": Mistake(
        by_rule(root_forgotten),
        "The dot products were divided by the squared lengths.",
        "A length is the root of the sum of squares.",
    ),
    "sign_of_distance": Mistake(
        by_rule(sign_of_distance),
        "The minus before the squared distance is missing.",
        "The farther a key, the lower its score: −‖q − k‖².",
    ),
    "half_forgotten": Mistake(
        by_rule(half_forgotten),
        "The squared distance was not divided by 2·width².",
        "Divide by 2·width².",
    ),
    "distance_not_squared": Mistake(
        by_rule(distance_not_squared),
        "The distance was not squared.",
        "Leave the root out: ‖q − k‖² is the sum of squares.",
    ),
    "cap_not_restored": Mistake(
        by_rule(cap_not_restored),
        "The tanh was not multiplied by the cap.",
        "Multiply by the cap after the tanh: c·tanh(s / c).",
    ),
    "mask_missing": Mistake(
        by_rule(mask_missing),
        "The mask was not applied.",
        "Put −∞ where the mask is 0, before the softmax.",
    ),
    "mask_inverted": Mistake(
        by_rule(mask_inverted),
        "The mask was applied the other way round: 1 means that a query may attend.",
        "Block the cells where the mask is 0.",
    ),
    "mask_as_zero": Mistake(
        by_rule(mask_as_zero),
        "Blocked scores were set to 0, and e^0 = 1 is not nothing.",
        "Put −∞ in blocked cells: e^−∞ = 0.",
    ),
    "mask_transposed": Mistake(
        by_rule(mask_transposed),
        "The mask stands transposed: queries and keys have changed places in it.",
        "Look up for each query which keys it may see.",
    ),
    "mask_off_by_one": Mistake(
        mask_off_by_one,
        "The mask is off by one key.",
        "{rule}",
    ),
    "mask_after_softmax": Mistake(
        mask_after_softmax,
        "The mask was applied after the softmax, so the weights no longer sum to 1.",
        "Put −∞ into the scores before the softmax.",
    ),
    "blocked_counted": Mistake(
        by_rule(blocked_counted),
        "The sum counts blocked keys, too.",
        "Add up only what the mask lets through: e^−∞ = 0.",
    ),
    "earlier_step_used": Mistake(
        earlier_step_used,
        "{step} was calculated from {used}, not from {right}.",
        "Go on from the step before.",
    ),
    "scaled_after_softmax": Mistake(
        scaled_after_softmax,
        "The weights were scaled, not the scores.",
        "Divide the scores by √d_k before the softmax.",
    ),
    "softmax_over_queries": Mistake(
        by_line(softmax_over_queries),
        "The softmax runs over the wrong axis: the weights of each {other} sum to 1.",
        "Divide so that the weights of each {one} sum to 1.",
    ),
    "softmax_over_all": Mistake(
        by_line(softmax_over_all),
        "The softmax runs over the whole matrix at once.",
        "Divide each {line} by its own sum.",
    ),
    "not_normalized": Mistake(
        by_line(not_normalized),
        "The numbers were not divided by the sum of their {line}.",
        "Divide each number by the sum of its {line}.",
    ),
    "not_exponentiated": Mistake(
        by_line(not_exponentiated),
        "The scores were taken as they are: no e^ was calculated.",
        "Take e^ of every score, then divide by the sum of the {line}.",
    ),
    "scores_as_weights": Mistake(
        by_rule(scores_as_weights),
        "The values were mixed by the scores: there was no softmax.",
        "Calculate {formula}.",
    ),
    "softmax_twice": Mistake(
        by_line(softmax_twice),
        "The softmax was taken twice.",
        "Stop when every {line} sums to 1.",
    ),
    "temperature_missing": Mistake(
        by_rule(temperature_missing),
        "The temperature was left out.",
        "Divide the scores by the temperature.",
    ),
    "temperature_inverted": Mistake(
        by_rule(temperature_inverted),
        "The scores were multiplied by the temperature.",
        "Divide the scores by the temperature.",
    ),
    "wrong_base": Mistake(
        wrong_base,
        "The powers are of {used}, not of {right}.",
        "Use the base that is asked for.",
    ),
    "exponent_sign": Mistake(
        by_rule(exponent_sign),
        "The exponents have the wrong sign.",
        "The largest score gets the largest weight: e^s, not e^−s.",
    ),
    "attention_transposed": Mistake(
        attention_transposed,
        "The weights stand transposed.",
        "Let every query mix the values by its own weights.",
    ),
    "input_instead_of_values": Mistake(
        input_instead_of_values,
        "The weights were multiplied by {used}, not by the values.",
        "Calculate {formula}.",
    ),
    "keys_instead_of_values": Mistake(
        other_values("K", "hidden"),
        "The weights were multiplied by {used}, not by the values.",
        "Calculate {formula}.",
    ),
    "queries_instead_of_values": Mistake(
        other_values("Q"),
        "The weights were multiplied by {used}, not by the values.",
        "Calculate {formula}.",
    ),
    "equal_weights": Mistake(
        by_rule(equal_weights),
        "This is the mean of the values: every key got the same weight.",
        "Calculate {formula}.",
    ),
    "input_added": Mistake(
        input_added,
        "The input was added, as in a transformer block.",
        "Attention alone ends with the mixed values.",
    ),
    "heads_interleaved": Mistake(
        by_rule(heads_interleaved),
        "Neighbouring features went to different heads.",
        "A head is a contiguous piece: the first d_k features are head 1.",
    ),
    "shared_heads_alternate": Mistake(
        by_rule(shared_heads_alternate),
        "The query heads take the key/value heads in turns.",
        "Neighbouring query heads share a key/value head.",
    ),
    "heads_in_wrong_order": Mistake(
        by_rule(heads_in_wrong_order),
        "The heads stand in the wrong order.",
        "Head 1 comes first.",
    ),
    "head_missing": Mistake(
        head_missing,
        "Head {head} was left out.",
        "Put all heads side by side.",
    ),
    "heads_summed": Mistake(
        by_rule(heads_summed),
        "The heads were added up.",
        "Put them side by side: their features stay apart.",
    ),
    "heads_averaged": Mistake(
        heads_averaged,
        "This is the mean of the heads.",
        "Put them side by side: their features stay apart.",
    ),
    "w_o_missing": Mistake(
        by_rule(w_o_missing),
        "The heads were not multiplied by W_o.",
        "Multiply the heads side by side by W_o.",
    ),
    "step_transposed": Mistake(
        step_transposed, "{step} stands transposed.", "A token keeps its place through every step."
    ),
}
"""Every mistake by its id, the simpler ones first."""
