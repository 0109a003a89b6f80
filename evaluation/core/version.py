"""The version of the software that computed a result, which is stored with it."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

VERSION = "0.1.0"

#: Libraries whose version can change a digit.
LIBRARIES = (
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "statsmodels",
    "krippendorff",
    "crowd-kit",
    "sacrebleu",
)


def software() -> str:
    """The product's name and version."""
    return f"Foretell {VERSION}"


@cache
def libraries() -> str:
    """Python and the libraries that computations depend on, with their versions: read once, as they are imported once."""
    return ", ".join(
        [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in LIBRARIES)]
    )
