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
    # Exit codes other than 0 and 3 that the case is about.
    allowed: tuple = (0, 3)


def begun(options=""):
    """Returns a step that copies an empty collection, made by OLD, to `seen`.

    A collection draws secrets at random. They decide which short texts are compared first, and so which answers say
    that the limit of texts was reached. Both sides therefore begin with the same secrets.
    """
    return lambda side: shutil.copytree(
        side.directory / "../../data/collections" / collection_name(options), side.directory / "seen"
    )
