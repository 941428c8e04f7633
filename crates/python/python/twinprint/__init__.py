"""Near-duplicate detection: SimHash fingerprints, exact Hamming search, verification on the text."""

from ._bits import as_bytes, from_bytes, hamming
from ._cluster import Clusterer, Clusters, cluster
from ._compare import Comparison, compare
from ._dedup import dedup, deduplicate
from ._eval import calibrate, evaluate, evaluate_clusters
from ._fingerprint import fingerprint
from ._join import join
from ._result import Match, NoPairsError, Pairs, Radius, Rejected, Report, Result
from ._twinprint import TwinprintError, __version__
from .collection import Answer, Collection
from .index import Index
from .stages import StagedRun

__all__ = [
    "Answer",
    "Clusterer",
    "Clusters",
    "Collection",
    "Comparison",
    "Index",
    "Match",
    "NoPairsError",
    "Pairs",
    "Radius",
    "Rejected",
    "Report",
    "Result",
    "StagedRun",
    "TwinprintError",
    "__version__",
    "as_bytes",
    "calibrate",
    "cluster",
    "compare",
    "dedup",
    "deduplicate",
    "evaluate",
    "evaluate_clusters",
    "fingerprint",
    "from_bytes",
    "hamming",
    "join",
]
