"""Near-duplicate detection: SimHash fingerprints, exact Hamming search, verification on the text."""

from ._cluster import Clusterer, Clusters, cluster
from ._compare import Comparison, compare
from ._eval import calibrate, evaluate, evaluate_clusters
from ._twinprint import TwinprintError, __version__
from .collection import Answer, Collection
from .index import Index

__all__ = [
    "Answer",
    "Clusterer",
    "Clusters",
    "Collection",
    "Comparison",
    "Index",
    "TwinprintError",
    "__version__",
    "calibrate",
    "cluster",
    "compare",
    "evaluate",
    "evaluate_clusters",
]
