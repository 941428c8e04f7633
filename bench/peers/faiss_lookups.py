"""Queries FAISS's exact binary indexes with the files of `lookups --export DIR`: faiss_lookups.py DIR K [QUERIES].

One thread. Prints rows of the table that `lookups` prints. The number of matches must equal twinprint's for the same queries.
"""

import resource
import sys
import time

import faiss
import numpy as np

directory, k = sys.argv[1], int(sys.argv[2])
most = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
faiss.omp_set_num_threads(1)
rows = np.fromfile(f"{directory}/rows.u64", dtype=np.uint8).reshape(-1, 8)
queries = np.fromfile(f"{directory}/queries-{k}.u64", dtype=np.uint8).reshape(-1, 8)[:most]


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def run(name, index, flips):
    before = resident()
    clock = time.process_time()
    index.add(rows)
    built = time.process_time() - clock
    memory = resident() - before
    if flips is not None:
        index.nflip = flips
    # FAISS's range search keeps distances below the radius, not at it.
    clock = time.process_time()
    limits, _, _ = index.range_search(queries, k + 1)
    took = time.process_time() - clock
    print(
        f"| {len(rows)} | {k} | {name} | {built:.2f} | {memory / len(rows):.1f} | "
        f"{len(queries) / took:.0f} | {int(limits[-1])} of {len(queries)} queries |",
        flush=True,
    )


# The index is exact for k if flips >= floor(k / tables).
for tables, bits in [(2, 32), (3, 21), (4, 16)]:
    flips = k // tables
    run(f"FAISS {faiss.__version__} IndexBinaryMultiHash {tables} x {bits}, nflip {flips}", faiss.IndexBinaryMultiHash(64, tables, bits), flips)
    if k > 3:
        break
