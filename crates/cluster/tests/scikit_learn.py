"""Prints the table of scikit_learn.rs: the scores of scikit-learn for random labellings.

Needs scikit-learn: python3 tests/scikit_learn.py
"""

from sklearn import metrics

# Items, labels found, labels of the truth, per cent of items with the label of the truth.
CASES = [
    (1, 1, 1, 0), (2, 2, 1, 0), (10, 3, 3, 0), (50, 5, 8, 50), (200, 20, 10, 30), (200, 10, 10, 90), (500, 400, 30, 20),
    (1000, 2, 50, 70), (1000, 100, 100, 95), (3000, 7, 7, 0), (3000, 40, 40, 60), (300, 1, 9, 0), (300, 9, 1, 0),
]


def labellings(seed, n, a, b, same):
    """The same numbers as in scikit_learn.rs."""
    state = seed
    found, truth = [], []
    for _ in range(n):
        draws = []
        for _ in range(3):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            draws.append(state >> 33)
        truth.append(draws[0] % b)
        found.append(truth[-1] if draws[1] % 100 < same else draws[2] % a)
    return found, truth


for seed, (n, a, b, same) in enumerate(CASES, 1):
    found, truth = labellings(seed, n, a, b, same)
    h, c, v = metrics.homogeneity_completeness_v_measure(truth, found)
    ari = metrics.adjusted_rand_score(truth, found)
    nmi = metrics.normalized_mutual_info_score(truth, found, average_method="geometric")
    pairs = metrics.cluster.pair_confusion_matrix(truth, found)
    precision = pairs[1, 1] / (pairs[1, 1] + pairs[0, 1]) if pairs[1, 1] + pairs[0, 1] else 1.0
    recall = pairs[1, 1] / (pairs[1, 1] + pairs[1, 0]) if pairs[1, 1] + pairs[1, 0] else 1.0
    values = ", ".join(f"{x:.12f}" for x in (h, c, v, ari, nmi, precision, recall))
    print(f"    ([{n}, {a}, {b}, {same}], [{values}]),")
