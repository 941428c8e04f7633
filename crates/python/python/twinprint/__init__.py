"""Near-duplicate detection: SimHash fingerprints, exact Hamming search, verification on the text."""

from ._compare import Comparison, compare
from ._twinprint import TwinprintError, __version__
from .collection import Collection
from .index import Index

__all__ = ["Collection", "Comparison", "Index", "TwinprintError", "__version__", "compare"]
