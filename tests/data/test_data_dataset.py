"""The Dataset base class, items in memory, and fingerprints."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minburn.backends import NumPy
from minburn.data import DataError, Dataset, InMemDataset
from minburn.data.fingerprint import digest, spread
from minburn.tensor import Tensor


class Squares(Dataset[int]):
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def get(self, index: int) -> int:
        if index == 7:
            raise KeyError("seven")
        return index * index


def test_len_and_get_are_enough() -> None:
    squares = Squares(5)
    assert list(squares) == [0, 1, 4, 9, 16]
    assert squares[3] == 9
    assert squares.get_many([4, 0, 4]) == [16, 0, 16]
    assert repr(squares) == "Squares(5 items)"
    assert squares.at_epoch(3) is squares
    assert list(Squares(0)) == []


@pytest.mark.parametrize("index", [-1, 5, 100])
@pytest.mark.parametrize("dataset", [Squares(5), InMemDataset(range(5))], ids=["written", "in memory"])
def test_an_index_out_of_range_names_index_and_length(dataset: Dataset[int], index: int) -> None:
    for read in (lambda: dataset[index], lambda: dataset.get_many([0, index])):
        with pytest.raises(IndexError, match=rf"index {index} .* 5 items"):
            read()


def test_in_memory_get_checks_too() -> None:
    with pytest.raises(IndexError, match=r"InMemDataset: index -1 .* 5 items. Use 0 to 4."):
        InMemDataset(range(5)).get(-1)
    with pytest.raises(IndexError, match="no items"):
        InMemDataset([]).get(0)


def test_an_error_in_get_names_the_item() -> None:
    with pytest.raises(DataError, match="Squares, item 7: KeyError: 'seven'") as caught:
        Squares(10).get_many([1, 7])
    assert isinstance(caught.value.__cause__, KeyError)


def test_in_memory_copies_the_list() -> None:
    items = [1, 2, 3]
    dataset = InMemDataset(items)
    items.append(4)
    assert list(dataset) == [1, 2, 3]
    assert list(InMemDataset.from_dataset(Squares(3))) == [0, 1, 4]


def test_json_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"a": 1}\n\n[2, "é"]\n', encoding="utf-8")
    assert list(InMemDataset.from_json_rows(path)) == [{"a": 1}, [2, "é"]]
    path.write_text('{"a": 1}\n{"a": \n', encoding="utf-8")
    with pytest.raises(DataError, match=r"rows.json, line 2: not a JSON value"):
        InMemDataset.from_json_rows(path)
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        InMemDataset.from_json_rows(path)


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('\ufeffname,size\nada,3\n"b, ""c""",4\n', encoding="utf-8")
    assert list(InMemDataset.from_csv(path)) == [{"name": "ada", "size": "3"}, {"name": 'b, "c"', "size": "4"}]
    path.write_text("name;size\nada;3\n", encoding="utf-8")
    assert list(InMemDataset.from_csv(path, delimiter=";")) == [{"name": "ada", "size": "3"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv: empty"),
        (b"a,b\n1,2\n3\n", "table.csv, line 3: 1 cells, but the first row names 2"),
        (b"a,a\n1,2\n", "two columns have one name"),
        (b'a,b\n1,"2\n', "table.csv, line 2: not CSV"),
        (b"a,b\n1,\xff\n", "table.csv: not UTF-8 text: byte 6 is 0xff"),
    ],
)
def test_csv_refuses(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        InMemDataset.from_csv(path)


@dataclass
class Point:
    x: float
    label: str


class Opaque:
    """Its repr holds an address, which must not reach a digest."""


VALUES: list[Callable[[], Any]] = [
    lambda: 1,
    lambda: 1.0,
    lambda: True,
    lambda: None,
    lambda: "1",
    lambda: b"1",
    lambda: ["a", "b"],
    lambda: ["ab"],
    lambda: [["a"], "b"],
    lambda: {"a": "b"},
    lambda: {"a", "b", "c", "d"},
    lambda: Point(1.0, "a"),
    lambda: Point(2.0, "a"),
    lambda: np.array([1, 2], dtype=np.int32),
    lambda: np.array([1, 2], dtype=np.int64),
    lambda: np.array([[1, 2]], dtype=np.int32),
    lambda: np.array(["a", 1], dtype=object),
    lambda: np.float32(1.0),
    lambda: Tensor.from_data([1.0, 2.0], NumPy()),
    lambda: Tensor.from_data([1.0, 3.0], NumPy()),
    lambda: Opaque(),
]


def test_digests_tell_values_apart_and_repeat() -> None:
    first = [digest([make()]) for make in VALUES]
    assert first == [digest([make()]) for make in VALUES]
    assert len(set(first)) == len(VALUES)


def test_digests_ignore_memory_layout() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert digest([array]) == digest([np.asfortranarray(array)]) == digest([array.astype(">f4")])


def test_the_digest_of_a_known_value_never_changes() -> None:
    assert digest([1, "a", [2.5, None]]) == "63bfaad9c17b25f47d92d21b46a0a01068c03affae4fa7ab192a667d1a22be14"


def test_spread() -> None:
    assert spread(3, 32) == [0, 1, 2]
    assert spread(101, 3) == [0, 50, 100]
    many = spread(10**9, 32)
    assert len(set(many)) == 32
    assert (many[0], many[-1]) == (0, 10**9 - 1)


def test_fingerprints_follow_length_and_content() -> None:
    assert Squares(6).fingerprint() == Squares(6).fingerprint() != Squares(5).fingerprint()
    assert InMemDataset([1, 2, 3]).fingerprint() != InMemDataset([1, 9, 3]).fingerprint()
    assert InMemDataset([1, 2, 3]).fingerprint() == InMemDataset((1, 2, 3)).fingerprint()
