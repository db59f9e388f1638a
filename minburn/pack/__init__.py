"""The burnpack container."""

from minburn.pack.atomic import AtomicFile
from minburn.pack.errors import AlreadyExistsError, PackError, TensorNotFoundError
from minburn.pack.reader import Reader
from minburn.pack.scalar import Scalar
from minburn.pack.tensor import TensorEntry
from minburn.pack.writer import Writer, WriteReport

__all__ = [
    "AlreadyExistsError",
    "AtomicFile",
    "PackError",
    "Reader",
    "Scalar",
    "TensorEntry",
    "TensorNotFoundError",
    "WriteReport",
    "Writer",
]
