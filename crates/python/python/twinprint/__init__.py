"""Near-duplicate detection: SimHash fingerprints, exact Hamming search, verification on the text."""

from ._twinprint import TwinprintError, __version__

__all__ = ["TwinprintError", "__version__"]
