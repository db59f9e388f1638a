"""Burn's names and ours, read from the sources.

    index.py    what minburn defines, and what docstrings say of Burn
    burn.py     Burn's names: `burn/` holds them as data
    match.py    which of ours a name of Burn's is
    left_out.txt, left_out.py    those that have no counterpart here, and why

`minburn where` answers from these; the page of all names (`docs/burn-names.md`) is made from them.
"""
