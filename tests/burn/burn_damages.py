"""Files that something is wrong with, each made from a good one by a line of the table, with Burn's verdict and ours.

    Damage("cut_by_one_byte", MODEL, cut(-1), "truncated")      both refuse it, for a reason of `REASONS`
    Damage("a_byte_too_many", MODEL, append(b"\\0"))            both accept it, and read the same
    Damage(…, Differ(burn=None, ours="element is 2", why=…))    we differ: what each says (None: accepts it), and why

A model's file is loaded into a module; an optimizer's is loaded and a step is made; a schedule's is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from burn_edits import (
    HEADER,
    append,
    cbor,
    cut,
    declared,
    del_leaf,
    drop,
    entry,
    extra,
    header,
    leaf,
    offsets,
    one_entry_twice,
    put,
    remove,
    rename,
    replaced,
    same,
    scalars,
    set_leaf,
    split,
    state,
    top,
    tree,
    value,
)

MODEL, OPTIMIZER, SCHEDULE = "model", "optim", "scheduler"

# What Burn says and what we say, as regular expressions. One reason may have several texts.
REASONS = {
    "short": ("failed to fill whole buffer", "too short|truncated: the header announces"),
    "magic": ("Invalid magic number", "not a burnpack file"),
    "version": ("Unsupported version", "format version"),
    "too big": ("exceeds maximum allowed size", "the limit is"),
    "truncated": ("File truncated", "truncated: its tensors end"),
    "ends early": ("UnexpectedEof", "ends in the middle of an item"),
    "too deep": ("RecursionLimitExceeded", "nested more than 128 levels"),
    "syntax": (r"Syntax\(", "not UTF-8|malformed item"),
    "type": ("invalid type|expected bool", "expected .*, found"),
    "number": (
        "unexpected negative integer|integer too large",
        "expected (an integer from 0 to|a signed 64-bit integer)",
    ),
    "two numbers": ("expected a tuple of size 2", "expected 2 integers, found"),
    "no field": ("missing field", "the key '.*' is missing"),
    "twice": ("duplicate field", "comes twice"),
    "no such name": ("unknown variant", "is no (dtype|bool store|scalar)"),
    "length": ("declares .* bytes but its shape", "has .* bytes, but its shape"),
    "overflow": ("overflow", "overflow"),
    "reversed": ("corrupted offset data: end .* < start", "before its start"),
    "shape": ("shape mismatch", "of another shape"),
    "missing": ("Missing tensors", "missing"),
    "unused": ("Unused tensors", "unused"),
    "kind": ("Expected float dtype|an enabled float tensor", "holds .* values, the record has"),
    "no id": ("should carry a parameter id", "not named after its parameter's id"),
    "rank": ("Given dimensions differ from the tensor rank|Unsupported tensor rank", "is one of a tensor of rank"),
}


class Differ(NamedTuple):
    burn: str | None
    ours: str | None
    why: str


class Damage(NamedTuple):
    """verdict: "" if both accept it."""

    name: str
    file: str
    make: Callable[[bytes], bytes]
    verdict: str | Differ = ""
    loaded_as: str = ""  # if it is not what the file is


FORGETS = "Burn finds nothing in it and starts anew, in silence"
Q8S = {"value": "Q8S", "store": "Native", "mode": "Symmetric", "tensor": "F32", "block": None}


DAMAGES = [
    # The header.
    Damage("nothing", MODEL, cut(0), "short"),
    Damage("five_bytes", MODEL, cut(5), "short"),
    Damage("header_only", MODEL, cut(10), "short"),
    Damage("magic_reversed", MODEL, header(0, b"BURN"), "magic"),
    Damage("a_zip", MODEL, header(0, b"PK\3\4"), "magic"),
    Damage("version_0", MODEL, header(4, b"\0\0")),
    Damage("version_2", MODEL, header(4, b"\2\0"), "version"),
    Damage("version_65535", MODEL, header(4, b"\xff\xff"), "version"),
    Damage("metadata_size_0", MODEL, header(6, b"\0\0\0\0"), "ends early"),
    Damage("metadata_size_less", MODEL, declared(-1), "ends early"),
    Damage("metadata_size_more", MODEL, declared(1)),
    Damage("metadata_size_beyond_the_file", MODEL, declared(1 << 20), "short"),
    Damage("metadata_size_4_gib", MODEL, header(6, b"\xff\xff\xff\xff"), "too big"),
    Damage("cut_in_the_metadata", MODEL, cut(200), "short"),
    Damage("cut_in_the_padding", MODEL, lambda good: good[: HEADER + len(split(good)[0]) + 3], "truncated"),
    Damage("cut_by_one_byte", MODEL, cut(-1), "truncated"),
    Damage("cut_in_half", MODEL, lambda good: good[: len(good) // 2], "truncated"),
    Damage("a_byte_too_many", MODEL, append(b"\0")),
    Damage(
        "padding_of_ff",
        MODEL,
        lambda good: good[: HEADER + len(split(good)[0])] + b"\xff" + good[HEADER + len(split(good)[0]) + 1 :],
    ),
    # CBOR.
    Damage("metadata_is_a_list", MODEL, tree(lambda decoded: [decoded]), "type"),
    Damage("metadata_is_null", MODEL, cbor(lambda metadata: b"\xf6"), "type"),
    Damage("no_tensors", MODEL, tree(lambda decoded: {"metadata": {}}), "no field"),
    Damage("tensors_is_a_list", MODEL, top("tensors", []), "type"),
    Damage("tensors_twice", MODEL, cbor(lambda metadata: b"\xa2" + metadata[1:] + metadata[1:]), "twice"),
    Damage("unknown_key", MODEL, top("colour", {"red": [1, 2.5, None]})),
    Damage("unknown_field", MODEL, put("colour", "red")),
    Damage("metadata_null", MODEL, top("metadata", None), "type"),
    Damage("metadata_of_numbers", MODEL, top("metadata", {"k": 1}), "type"),
    Damage("scalars_null", MODEL, top("scalars", None), "type"),
    Damage("indefinite_map", MODEL, cbor(lambda metadata: b"\xbf" + metadata[1:] + b"\xff")),
    Damage("indefinite_map_without_end", MODEL, cbor(lambda metadata: b"\xbf" + metadata[1:]), "ends early"),
    Damage("a_tag_in_front", MODEL, cbor(lambda metadata: b"\xd9\xd9\xf7" + metadata)),
    Damage("garbage_after_the_map", MODEL, cbor(lambda metadata: metadata + b"\xff\xff\xff")),
    Damage("nested_5000_deep", MODEL, cbor(lambda metadata: b"\x81" * 5000 + b"\xa0"), "type"),
    Damage(
        "nested_200_deep_in_an_unknown_key",
        MODEL,
        cbor(lambda metadata: b"\xa2\x61k" + b"\x81" * 200 + b"\0" + metadata[1:]),
        "too deep",
    ),
    Damage("map_of_2_to_64", MODEL, cbor(lambda metadata: b"\xbb" + b"\xff" * 8 + metadata[1:]), "ends early"),
    Damage("name_in_invalid_utf8", MODEL, replaced(b"stem.bias", b"stem\xff\xfeias"), "syntax"),
    Damage("name_as_bytes", MODEL, replaced(b"\x69stem.bias", b"\x49stem.bias"), "type"),
    Damage("name_in_chunks", MODEL, replaced(b"\x69stem.bias", b"\x7f\x64stem\x65.bias\xff")),
    Damage(
        "name_twice",
        MODEL,
        cbor(one_entry_twice),
        Differ(None, "comes twice", "which one is meant? Burn takes the last one"),
    ),
    Damage("reserved_head", MODEL, cbor(lambda metadata: b"\x1c" + metadata), "syntax"),
    Damage("dimension_in_8_bytes", MODEL, replaced(b"\x65shape\x81\x08", b"\x65shape\x81\x1b" + b"\0" * 7 + b"\x08")),
    # Descriptors.
    Damage("descriptor_is_a_list", MODEL, entry(lambda found: list(found.values())), "type"),
    Damage("no_dtype", MODEL, drop("dtype"), "no field"),
    Damage("no_shape", MODEL, drop("shape"), "no field"),
    Damage("no_offsets", MODEL, drop("data_offsets"), "no field"),
    Damage("no_param_id", MODEL, drop("param_id")),
    Damage("dtype_unknown", MODEL, put("dtype", "F8"), "no such name"),
    Damage("dtype_in_lower_case", MODEL, put("dtype", "f32"), "no such name"),
    Damage("dtype_a_number", MODEL, put("dtype", 3), "type"),
    Damage("dtype_null", MODEL, put("dtype", None), "type"),
    Damage("dtype_bare_bool", MODEL, put("dtype", "Bool", "keep"), "no such name"),
    Damage("dtype_f32_in_a_map", MODEL, put("dtype", {"F32": None}), "type"),
    Damage("dtype_bool_unknown", MODEL, put("dtype", {"Bool": "U16"}, "keep"), "no such name"),
    Damage("dtype_bool_u8", MODEL, put("dtype", {"Bool": "U8"}, "keep")),
    Damage(
        "dtype_i8_for_bools",
        MODEL,
        put("dtype", "I8", "keep"),
        Differ(None, "keep holds bool values", "numbers where bools belong: Burn makes bools of them in silence"),
    ),
    Damage(
        "dtype_u8_for_bools",
        MODEL,
        put("dtype", "U8", "keep"),
        Differ(None, "keep holds bool values", "numbers where bools belong: Burn makes bools of them in silence"),
    ),
    Damage("dtype_qfloat_without_scheme", MODEL, put("dtype", {"QFloat": None}), "type"),
    Damage(
        "dtype_qfloat_without_mode",
        MODEL,
        put("dtype", {"QFloat": {k: v for k, v in Q8S.items() if k != "mode"}}),
        "no field",
    ),
    Damage(
        "dtype_qfloat_too_short",
        MODEL,
        put("dtype", {"QFloat": Q8S}),
        Differ(
            "invalid for input of size",
            "stem.bias is quantized",
            "no backend here holds quantized tensors, whatever their length",
        ),
    ),
    Damage("dtype_i32_for_floats", MODEL, put("dtype", "I32"), "kind"),
    Damage("dtype_u32_for_ints", MODEL, put("dtype", "U32", "counts")),
    Damage("dtype_f32_for_ints", MODEL, put("dtype", "F32", "counts"), "kind"),
    Damage(
        "dtype_flex32",
        MODEL,
        put("dtype", "Flex32"),
        Differ(None, None, "the same numbers; here they become F32, as no backend has Flex32"),
    ),
    Damage("shape_negative", MODEL, put("shape", [-8]), "number"),
    Damage("shape_a_text", MODEL, put("shape", "8"), "type"),
    Damage("shape_a_float", MODEL, put("shape", [8.0]), "type"),
    Damage("shape_null", MODEL, put("shape", None), "type"),
    Damage("shape_in_bytes", MODEL, put("shape", b"\x08")),
    Damage("shape_of_rank_2", MODEL, put("shape", [2, 4]), "shape"),
    Damage("shape_of_rank_0", MODEL, put("shape", []), "length"),
    Damage("shape_of_another_size", MODEL, put("shape", [9]), "length"),
    Damage("shape_2_to_64", MODEL, put("shape", [1 << 63, 2]), "overflow"),
    Damage("shape_overflow_times_0", MODEL, put("shape", [1 << 63, 2, 0]), "overflow"),
    Damage("shape_bignum", MODEL, put("shape", [1 << 70]), "number"),
    Damage(
        "shape_of_rank_100",
        MODEL,
        put("shape", [1] * 99 + [8]),
        Differ(
            "shape mismatch",
            "at most rank 64",
            "an array has at most 64 dimensions, so the file is refused before a module is asked",
        ),
    ),
    Damage("offsets_negative", MODEL, offsets(lambda start, end: (-8, end)), "number"),
    Damage("offsets_reversed", MODEL, offsets(lambda start, end: (end, start)), "reversed"),
    Damage(
        "offsets_past_the_end", MODEL, offsets(lambda start, end: (start + (1 << 20), end + (1 << 20))), "truncated"
    ),
    Damage("offsets_near_2_to_64", MODEL, offsets(lambda start, end: ((1 << 64) - 40, (1 << 64) - 8)), "overflow"),
    Damage("offsets_of_20_gib", MODEL, offsets(lambda start, end: (0, 20 << 30)), "too big"),
    Damage("offsets_overlap", MODEL, offsets(lambda start, end: (0, 32))),
    Damage("offsets_unaligned", MODEL, offsets(lambda start, end: (start + 4, end + 4))),
    Damage("offsets_too_short", MODEL, offsets(lambda start, end: (start, end - 4)), "length"),
    Damage("offsets_too_long", MODEL, offsets(lambda start, end: (start, end + 4)), "length"),
    Damage("offsets_one_number", MODEL, offsets(lambda start, end: (start,)), "two numbers"),
    Damage("offsets_three_numbers", MODEL, offsets(lambda start, end: (start, end, end)), "type"),
    Damage("offsets_floats", MODEL, offsets(lambda start, end: (float(start), float(end))), "type"),
    Damage("param_id_null", MODEL, put("param_id", None)),
    Damage("param_id_negative", MODEL, put("param_id", -1), "number"),
    Damage("param_id_a_text", MODEL, put("param_id", "42"), "type"),
    Damage("param_id_a_float", MODEL, put("param_id", 42.0), "type"),
    Damage("param_id_2_to_64", MODEL, put("param_id", 1 << 64), "number"),
    Damage(
        "param_id_of_another",
        MODEL,
        lambda good: entry(lambda found: found.update(param_id=7), "stem.weight")(put("param_id", 7)(good)),
        Differ(
            None,
            None,
            "here the second gets an id of its own; in Burn two parameters share one, and an optimizer state",
        ),
    ),
    # What a module makes of it.
    Damage("name_changed", MODEL, rename("stem.bias", "stem.beta"), "missing"),
    Damage("name_empty", MODEL, rename("stem.bias", ""), "missing"),
    Damage("tensor_missing", MODEL, remove("stem.bias"), "missing"),
    Damage("tensor_unused", MODEL, extra("stem.scale"), "unused"),
    Damage("variant_changed", MODEL, rename("head.Deep.last.bias", "head.Flat.last.bias"), "missing"),
    Damage("weight_transposed", MODEL, put("shape", [8, 5], "stem.weight"), "shape"),
    Damage(
        "bool_byte_of_2",
        MODEL,
        value("keep", b"\2"),
        Differ(None, "element is 2: only 0 and 1", "neither true nor false; Burn computes with the 2"),
    ),
    Damage("scalar_bare", MODEL, top("scalars", {"s": 5}), "type"),
    Damage("scalar_unknown", MODEL, top("scalars", {"s": {"Text": "x"}}), "no such name"),
    Damage("scalar_float_as_int", MODEL, top("scalars", {"s": {"Float": 1}}), "type"),
    Damage("scalar_uint_negative", MODEL, top("scalars", {"s": {"UInt": -1}}), "number"),
    Damage("scalar_int_2_to_63", MODEL, top("scalars", {"s": {"Int": 1 << 63}}), "number"),
    Damage("scalar_twice", MODEL, top("scalars", {"s": {"Int": 1, "UInt": 2}}), "type"),
    Damage("scalar_bool_as_int", MODEL, top("scalars", {"s": {"Bool": 1}}), "type"),
    # Optimizers.
    Damage("state_without_id", OPTIMIZER, state("moment_1", lambda found: found.pop("param_id")), "no id"),
    Damage(
        "state_of_another_id",
        OPTIMIZER,
        state("moment_1", lambda found: found.update(param_id=7)),
        Differ(None, "not named after its parameter", "name and id contradict each other; Burn goes by the name"),
    ),
    Damage("state_without_rank", OPTIMIZER, leaf("__rank", del_leaf)),
    Damage("rank_a_float", OPTIMIZER, leaf("__rank", set_leaf({"Float": 1.0}))),
    Damage("rank_negative", OPTIMIZER, leaf("__rank", set_leaf({"Int": -1}))),
    Damage("rank_of_another", OPTIMIZER, leaf("__rank", set_leaf({"UInt": 5})), "rank"),
    Damage("rank_9", OPTIMIZER, leaf("__rank", set_leaf({"UInt": 9})), "rank"),
    Damage("time_missing", OPTIMIZER, leaf("time", del_leaf)),
    Damage("time_a_float", OPTIMIZER, leaf("time", set_leaf({"Float": 3.0}))),
    Damage("time_signed", OPTIMIZER, leaf("time", set_leaf({"Int": 3}))),
    Damage(
        "moment_missing",
        OPTIMIZER,
        tree(lambda decoded: decoded["tensors"].pop(next(iter(decoded["tensors"]))) and None),
    ),
    Damage(
        "moment_of_ints",
        OPTIMIZER,
        state("moment_1", lambda found: found.update(dtype="I32")),
        Differ(
            None,
            None,
            "Burn goes on with these integers as the moment; here the parameter starts without a state, with a warning",
        ),
    ),
    Damage("path_not_text", OPTIMIZER, top("metadata", {"1": 2}), "type"),
    Damage("stranger", OPTIMIZER, scalars(lambda table: table.update({"colour": {"Int": 1}}))),
    # Schedules.
    Damage("counter_missing", SCHEDULE, leaf("remaining_iters", del_leaf)),
    Damage("counter_a_float", SCHEDULE, leaf("remaining_iters", set_leaf({"Float": 3.0}))),
    Damage("counter_signed", SCHEDULE, leaf("remaining_iters", set_leaf({"Int": 3}))),
    Damage("counter_negative", SCHEDULE, leaf("remaining_iters", set_leaf({"Int": -3}))),
    Damage(
        "counter_without_prefix",
        SCHEDULE,
        scalars(lambda table: table.update({"remaining_iters": table.pop("0.remaining_iters")})),
    ),
    # One kind of record in the place of another.
    Damage("a_model_for_an_optimizer", MODEL, same, Differ(None, "not an optimizer's record", FORGETS), OPTIMIZER),
    Damage(
        "a_schedule_for_an_optimizer", SCHEDULE, same, Differ(None, "not an optimizer's record", FORGETS), OPTIMIZER
    ),
    Damage("a_model_for_a_schedule", MODEL, same, Differ(None, "not a schedule's record", FORGETS), SCHEDULE),
    Damage("an_optimizer_for_a_schedule", OPTIMIZER, same, Differ(None, "not a schedule's record", FORGETS), SCHEDULE),
    Damage("an_optimizer_for_a_model", OPTIMIZER, same, "missing", MODEL),
    Damage("a_schedule_for_a_model", SCHEDULE, same, "missing", MODEL),
]
