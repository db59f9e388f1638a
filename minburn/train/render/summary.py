"""The table at the end: for each split and metric the best and the worst epoch.

Burn: `LearnerSummary` in `crates/burn-train/src/learner/summary.rs`.
"""

from __future__ import annotations

import math

from minburn.train.history import History

BANNER = "=" * 24


def summary(model: str, history: History) -> str:
    """Banner, model, number of epochs, and `| Split | Metric | Min. | Epoch | Max. | Epoch |`; NaN is largest.

    Burn: `LearnerSummary` in `crates/burn-train/src/learner/summary.rs`.
    """
    rows = [("Split", "Metric", "Min.", "Epoch", "Max.", "Epoch")]
    for split, metrics in history.items():
        for name, column in metrics.items():
            ranked = sorted((math.isnan(value), value, epoch) for epoch, value in enumerate(column, start=1))
            if ranked:
                (_, low, low_epoch), (_, high, _) = ranked[0], ranked[-1]
                high_epoch = next(epoch for _, value, epoch in ranked if value == high or value is high)
                rows.append((split.capitalize(), name, three(low), str(low_epoch), three(high), str(high_epoch)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join(
        [
            f"{BANNER} Learner Summary {BANNER}",
            f"Model:\n{model}",
            f"Total Epochs: {history.epochs}",
            "",
            table[0],
            rule,
            *table[1:],
        ]
    )


def three(value: float) -> str:
    """Three decimals; an exponent below 0.01."""
    return f"{value:.3f}" if not abs(value) < 1e-2 or value == 0 else f"{value:.3e}"
