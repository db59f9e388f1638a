"""Losses that sum over all alignments of a label sequence with a longer one, as logarithms, step by step.

CTC (Graves et al. 2006) reads labels off frames: every frame says a label or blank, repeats are merged, then blanks are
dropped. RNN-T (Graves 2012) walks a grid of frames and labels: blank goes to the next frame, a label stays in it.
Where no alignment exists the loss is infinite, with gradient 0. Halves are computed in F32.

What depends on labels and lengths only is prepared by NumPy, as the lengths have to be looked at anyway.

Burn: `crates/burn-backend/src/backend/ops/modules/ctc.rs`, `crates/burn-nn/src/loss/rnnt.rs`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minburn.tensor.activation import check_float
from minburn.tensor.check import IndexOutOfBounds, KindError, ShapeError, show
from minburn.tensor.functional.norm import narrowed, widened
from minburn.tensor.kinds import FloatTensor, IntTensor
from minburn.tensor.tensor import Tensor

IMPOSSIBLE = -1e30
"""The logarithm of a probability of 0: so small that no sum with it counts, and finite, so that its gradient is 0."""

Ints = NDArray[np.integer[Any]]


def ctc_loss(
    log_probs: FloatTensor, targets: IntTensor, input_lengths: IntTensor, target_lengths: IntTensor, blank: int = 0
) -> FloatTensor:
    """-log of the probability that the frames say the targets, for each sequence, [N].

    log_probs [T, N, C]: of every class in every frame. targets [N, S]: labels, of which the first target_lengths[n]
    count; input_lengths[n] frames of log_probs count.

    Errors: ShapeError for sizes or lengths that do not fit, IndexOutOfBounds for a label outside [0, C), KindError for
    other kinds.

    Burn: `ctc_loss_default` and `ModuleOps::ctc_loss`.
    """
    check_float("ctc_loss", log_probs)
    if log_probs.rank != 3:
        raise ShapeError(f"ctc_loss: log_probs must have shape [T, N, C], but have {show(log_probs.shape)}.")
    frames, n, classes = log_probs.shape
    label_lengths = lengths("ctc_loss", "target_lengths", target_lengths, n, None)
    labels = labels_of("ctc_loss", targets, label_lengths, n, classes, blank)
    frame_lengths = lengths("ctc_loss", "input_lengths", input_lengths, n, frames)

    # The labels with blanks around them. From one state of these one stays, goes to the next, or skips a blank.
    size = 2 * labels.shape[1] + 1
    states = np.full((n, size), blank, np.int64)
    states[:, 1::2] = labels
    skips = np.full((n, size), IMPOSSIBLE)
    skips[:, 2:][(states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])] = 0.0
    x = widened(log_probs)
    chosen = x.gather(2, indices(np.broadcast_to(states, (frames, n, size)), targets)).clamp_min(IMPOSSIBLE)
    said = [chosen.slice(slice(frame, frame + 1)).squeeze_dim(0) for frame in range(frames)]
    skip = constants(skips, x)
    outside = constants(np.full((n, 2), IMPOSSIBLE), x)

    reached = said[0] + constants(np.where(np.arange(size) < 2, 0.0, IMPOSSIBLE)[None], x)
    shortest = frame_lengths.min(initial=frames)
    for frame in range(1, frames):
        padded = Tensor.cat([outside, reached], 1)
        stayed, moved, skipped = (padded.narrow(1, start, size) for start in (2, 1, 0))
        after = log_sum(stayed, moved, skipped + skip) + said[frame]
        if frame < shortest:
            reached = after
        else:
            ended = np.broadcast_to((frame >= frame_lengths)[:, None], (n, size))
            reached = after.mask_where(Tensor.from_data(ended.copy(), x.backend), reached)
    padded = Tensor.cat([outside, reached], 1)
    last, before = (padded.gather(1, indices(2 * label_lengths[:, None] + place, targets)) for place in (2, 1))
    return narrowed(loss_of(log_sum(last, before)), log_probs)


def rnnt_loss(
    log_probs: FloatTensor, targets: IntTensor, logit_lengths: IntTensor, target_lengths: IntTensor, blank: int = 0
) -> FloatTensor:
    """-log of the probability of the targets, for each sequence, [N].

    log_probs [N, T, U + 1, V]: of every class in frame t after u labels. targets [N, U]: labels, of which the first
    target_lengths[n] count; logit_lengths[n] frames of log_probs count.

    Errors: as ctc_loss.
    """
    check_float("rnnt_loss", log_probs)
    if log_probs.rank != 4:
        raise ShapeError(f"rnnt_loss: log_probs must have shape [N, T, U + 1, V], but have {show(log_probs.shape)}.")
    n, frames, places, classes = log_probs.shape
    label_lengths = lengths("rnnt_loss", "target_lengths", target_lengths, n, None)
    labels = labels_of("rnnt_loss", targets, label_lengths, n, classes, blank)
    if places != labels.shape[1] + 1:
        raise ShapeError(
            f"rnnt_loss: targets of shape {show(targets.shape)} need log_probs of shape [N, T, {labels.shape[1] + 1}, "
            f"V], but they have {show(log_probs.shape)}."
        )
    frame_lengths = lengths("rnnt_loss", "logit_lengths", logit_lengths, n, frames)

    # All places with t + u = d are reached from those with d - 1: seen along diagonals, [D, N, U + 1].
    x = widened(log_probs)
    diagonals = frames + places - 1
    at = np.clip(np.arange(diagonals)[:, None] - np.arange(places), 0, frames - 1)  # t, where it is in the grid
    spread = np.broadcast_to(at, (n, diagonals, places))
    classes_at = np.full((2, n, frames, places, 1), blank, np.int64)
    classes_at[1, :, :, :-1, 0] = labels[:, None]
    rest, label = (
        x.gather(3, indices(classes_at[kind], targets))
        .squeeze_dim(3)
        .clamp_min(IMPOSSIBLE)
        .gather(1, indices(spread, targets))
        for kind in range(2)
    )
    outside = constants(np.full((n, 1), IMPOSSIBLE), x)
    reached = constants(np.where(np.arange(places) < 1, 0.0, IMPOSSIBLE)[None].repeat(n, 0), x)
    ends = label_lengths + frame_lengths - 1
    found = [reached]
    for diagonal in range(1, int(ends.max(initial=0)) + 1):
        waits, says = (part.narrow(1, diagonal - 1, 1).squeeze_dim(1) for part in (rest, label))
        moved = Tensor.cat([outside, (reached + says).narrow(1, 0, places - 1)], 1) if places > 1 else outside
        reached = log_sum(reached + waits, moved)
        found.append(reached)
    total = Tensor.stack(found, 1) + rest.narrow(1, 0, len(found))
    ended = total.gather(1, indices(np.broadcast_to(ends[:, None, None], (n, 1, places)), targets)).squeeze_dim(1)
    return narrowed(loss_of(ended.gather(1, indices(label_lengths[:, None], targets))), log_probs)


def log_sum(*logarithms: FloatTensor) -> FloatTensor:
    """log Σ e^x, element by element."""
    top = logarithms[0].detach()
    for other in logarithms[1:]:
        top = top.max_pair(other.detach())  # what is taken out here is put back: it has no part in the gradient
    total = (logarithms[0] - top).exp()
    for other in logarithms[1:]:
        total = total + (other - top).exp()
    return total.log() + top


def loss_of(logarithms: FloatTensor) -> FloatTensor:
    """-x [N, 1] as [N], infinite and without a gradient where it is impossible."""
    loss = -logarithms.squeeze_dim(1)
    return loss.mask_fill(loss.greater_equal(-IMPOSSIBLE / 2), math.inf)


def labels_of(name: str, targets: IntTensor, counted: Ints, n: int, classes: int, blank: int) -> Ints:
    """The targets on the host, blank where they do not count."""
    if not isinstance(targets, IntTensor):
        raise KindError(f"{name}: targets must be an int tensor, but got {type(targets).__name__}.")
    if targets.rank != 2 or targets.shape[0] != n:
        raise ShapeError(f"{name}: {n} sequences need targets of shape [{n}, …], but they have {show(targets.shape)}.")
    if isinstance(blank, bool) or not isinstance(blank, int) or not 0 <= blank < classes:
        raise IndexOutOfBounds(f"{name}: blank must be one of the {classes} classes, but got {blank!r}.")
    found: Ints = targets.numpy()
    if counted.max(initial=0) > found.shape[1]:
        raise ShapeError(
            f"{name}: targets of shape {show(targets.shape)} have {found.shape[1]} labels at most, but target_lengths "
            f"has {counted.max()}."
        )
    labels = np.where(np.arange(found.shape[1]) < counted[:, None], found, blank).astype(np.int64)
    if labels.size and not 0 <= labels.min() <= labels.max() < classes:
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise IndexOutOfBounds(f"{name}: the label {wrong} is not one of the {classes} classes.")
    return labels


def lengths(name: str, which: str, given: IntTensor, n: int, most: int | None) -> Ints:
    """Lengths on the host. most: frames there are, of which at least one must count; None: of labels, 0 or more."""
    if not isinstance(given, IntTensor):
        raise KindError(f"{name}: {which} must be an int tensor, but got {type(given).__name__}.")
    if given.shape != (n,):
        raise ShapeError(f"{name}: {n} sequences need {which} of shape [{n}], but they have {show(given.shape)}.")
    found: Ints = given.numpy().astype(np.int64)
    least = 0 if most is None else 1
    if found.size and (found.min() < least or (most is not None and found.max() > most)):
        allowed = "at least 0" if most is None else f"between 1 and {most}"
        wrong = found.min() if found.min() < least else found.max()
        raise ShapeError(f"{name}: {which} must be {allowed}, but one is {wrong}.")
    return found


def indices(values: Ints, like: IntTensor) -> IntTensor:
    return Tensor.from_data(np.ascontiguousarray(values), like.backend, like.dtype)  # type: ignore[no-any-return]


def constants(values: NDArray[np.float64], like: FloatTensor) -> FloatTensor:
    return Tensor.from_data(values, like.backend, like.dtype)  # type: ignore[no-any-return]
