"""Damaged files: the fuzzer of `pack_fuzz.py`, a little in every test run and 100,000 cases in CI."""

import pack_fuzz
import pytest


def test_undamaged_files_open():
    for data in pack_fuzz.seeds():
        pack_fuzz.check_agreement(data, pack_fuzz.read(data))


def test_2000_damaged_files():
    assert 100 < pack_fuzz.fuzz(2_000, seed=1) < 1_900


@pytest.mark.heavy
def test_100000_damaged_files():
    assert 5_000 < pack_fuzz.fuzz(100_000, seed=2) < 95_000
