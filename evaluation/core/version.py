"""The version that computed a result, kept with it."""

from __future__ import annotations

import platform
from importlib.metadata import version

VERSION = "0.1.0"

#: Libraries whose version can move a digit.
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


def libraries() -> str:
    """Python and the libraries that computations rest on, each with its version."""
    return ", ".join(
        [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in LIBRARIES)]
    )
