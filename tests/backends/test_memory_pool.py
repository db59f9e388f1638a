"""The pool of memory: nothing that is in use is handed out again, and what is not in use is given back."""

from __future__ import annotations

import random
import sys
import threading
from typing import Any

import numpy as np

from minburn.backends.array.pool import SLAB, SMALLEST, Pool

SINGLE = np.dtype(np.float32)


def held(pool: Pool) -> int:
    """Bytes of all slabs that the pool, or an array of its, keeps alive."""
    parts = [lease.memory for lease in pool._leases.values()] + pool._holes
    parts += [part for free in pool._free.values() for part in free]
    slabs: dict[int, Any] = {id(part.obj): part.obj for part in parts}
    return sum(slab.size for slab in slabs.values())


def filled(pool: Pool, elements: int, value: float) -> Any:
    array = pool.empty((elements,), SINGLE)
    array[:] = value
    return array


def test_small_results_that_are_kept_do_not_keep_their_slabs() -> None:
    pool, chance, kept = Pool(limit=SLAB), random.Random(1), []
    for step in range(150):  # each of another length, as with sequences
        temporaries = [filled(pool, chance.randrange(SMALLEST, 20 * SMALLEST), -1.0) for _ in range(20)]
        kept.append(filled(pool, 10_000, float(step)))
        del temporaries
    assert held(pool) <= 5 * SLAB  # not 4 GB
    assert all((array == float(step)).all() for step, array in enumerate(kept))


def test_slabs_with_nothing_in_use_go_back() -> None:
    pool = Pool(limit=SLAB)
    large = [pool.empty((SLAB // 8,), SINGLE) for _ in range(20)]
    assert held(pool) >= 10 * SLAB
    del large
    pool.empty((1_000_000,), SINGLE)
    assert held(pool) <= 2 * SLAB


def test_nothing_in_use_is_handed_out_again_in_many_threads() -> None:
    pool, wrong = Pool(limit=1 << 20), []

    def work(number: int) -> None:
        chance, live = random.Random(number), dict[float, Any]()
        for step in range(600):
            mark = float(number * 1000 + step)
            live[mark] = filled(pool, chance.randrange(SMALLEST // 4, 2 * SMALLEST), mark)
            while len(live) > 12:
                known = chance.choice(list(live))
                if not (live.pop(known) == known).all():
                    wrong.append(known)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert held(pool) <= 3 * SLAB
