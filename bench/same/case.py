"""A case, and a step that several cases share."""

import shutil
from dataclasses import dataclass

from same.inputs import collection_name


@dataclass(frozen=True)
class Case:
    """A list of steps, each a command line or a function of `Side`."""

    name: str
    steps: tuple
    quick: bool = False
    # The exit codes that the case expects.
    allowed: tuple = (0, 3)


def copied_collection(options=""):
    """Returns a step that copies an empty collection, made by OLD, to `seen`.

    A new collection has random secrets. They decide which short texts are compared first, and so which answers report
    that the limit of texts was reached. Both sides therefore start from the same collection.
    """
    return lambda side: shutil.copytree(
        side.directory / "../../data/collections" / collection_name(options), side.directory / "seen"
    )
