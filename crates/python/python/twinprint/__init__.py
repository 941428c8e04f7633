"""Near-duplicate detection: SimHash fingerprints, exact Hamming search, verification on the text."""

from ._dedup import dedup, deduplicate
from ._fingerprint import as_bytes, fingerprint, from_bytes, hamming
from ._result import Match, NoPairsError, Pairs, Radius, Rejected, Report, Result
from ._twinprint import TwinprintError, __version__

__all__ = [
    "Match",
    "NoPairsError",
    "Pairs",
    "Radius",
    "Rejected",
    "Report",
    "Result",
    "TwinprintError",
    "__version__",
    "as_bytes",
    "dedup",
    "deduplicate",
    "fingerprint",
    "from_bytes",
    "hamming",
]
