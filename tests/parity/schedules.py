"""Counterparts of schedulers.json: 60 rates, the record after 17, and how it goes on from there."""

from __future__ import annotations

import math
from typing import Any

from cases import Case
from play import Deviation, Missing

from minburn import optim

SIMPLE = {
    "Linear": "LinearLrSchedulerConfig",
    "Cosine": "CosineAnnealingLrSchedulerConfig",
    "Exponential": "ExponentialLrSchedulerConfig",
    "Noam": "NoamLrSchedulerConfig",
    "Step": "StepLrSchedulerConfig",
}


def config_of(spec: Any) -> Any:
    ((kind, fields),) = spec.items()
    if kind == "Constant":
        return optim.ConstantLrConfig(fields)
    if kind in SIMPLE:  # JSON has no NaN
        given = {name: math.nan if value is None else value for name, value in fields.items()}
        return getattr(optim, SIMPLE[kind])(**given)
    name = f"{kind}LrSchedulerConfig"
    if not hasattr(optim, name):
        raise Missing(f"optim.{name}")
    children = [config_of(child) for child in fields["schedulers"]]
    if kind == "Composed":
        reduction = optim.SchedulerReduction[fields["reduction"]]
        return optim.ComposedLrSchedulerConfig(schedulers=children, reduction=reduction)
    return optim.SequentialLrSchedulerConfig(schedulers=children, milestones=fields["milestones"])


def started(spec: Any) -> Any:
    config = config_of(spec)
    return config.init() if hasattr(config, "init") else config


def play_schedule(case: Case) -> None:
    data = case.data
    if data.get("error") is not None:
        try:
            scheduler = started(data["config"])
        except (ValueError, TypeError):
            return
        raise Deviation(f"Burn refuses it ({data['error']}), minburn gives {scheduler!r}")
    scheduler = started(data["config"])
    if "lr" not in data:
        return
    rates = [float(scheduler.step()) for _ in range(17)]
    record = scheduler.into_record()
    rates += [float(scheduler.step()) for _ in range(len(data["lr"]) - 17)]
    check("rate", rates, data["lr"])
    again = started(data["config"]).load_record(optim.LrSchedulerRecord.from_bytes(record.into_bytes()))
    check("rate after loading", [float(again.step()) for _ in data["after_load"]], data["after_load"])
    stored = {key: {scalar.kind: scalar.value} for key, scalar in record_scalars(record).items()}
    wanted = data["record_after_17"]["scalars"]
    if stored.keys() != wanted.keys():
        raise Deviation(f"the record holds {sorted(stored)}, Burn's {sorted(wanted)}")
    for key, scalar in wanted.items():
        ((kind, value),) = scalar.items()
        found = stored[key].get(kind)
        if found is None or abs(found - float(value)) > 1e-12 * abs(float(value)):
            raise Deviation(f"{key} is {stored[key]} in the record, Burn's {scalar}")


def record_scalars(record: Any) -> Any:
    from minburn.pack import Reader

    return Reader.from_bytes(record.into_bytes()).scalars


def check(what: str, found: list[float], wanted: list[Any]) -> None:
    for k, (mine, burns) in enumerate(zip(found, wanted, strict=True)):
        if abs(mine - float(burns)) > 1e-12 * abs(float(burns)):
            raise Deviation(f"{what} {k} is {mine!r}, Burn's {burns!r}")
