"""Names of licences as people write them, and their identifiers of SPDX."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CC = re.compile(r"CC[ -](BY(?:[ -](?:NC|SA|ND))*|BY)(?:[ -](\d\.\d))?", re.IGNORECASE)
_OTHERS = {
    "CC0": ("CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "CC0-1.0": ("CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "MIT": ("MIT", "https://spdx.org/licenses/MIT.html"),
    "APACHE-2.0": ("Apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "ODBL": ("ODbL-1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "ODBL-1.0": ("ODbL-1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "PDDL": ("PDDL-1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
    "PDDL-1.0": ("PDDL-1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
}  # fmt: skip


@dataclass(frozen=True)
class Licence:
    """A licence as the authors named it, with SPDX's identifier and an address if it is one that is known here."""

    said: str
    spdx: str = ""
    url: str = ""


def licence_read(said: str) -> Licence:
    """The licence that a name means.

    >>> licence_read("CC BY-SA 4.0").spdx
    'CC-BY-SA-4.0'
    >>> licence_read("ask us")
    Licence(said='ask us', spdx='', url='')
    """
    name = " ".join(said.split())
    matched = _CC.fullmatch(name)
    if matched:
        kind, version = matched[1].upper().replace(" ", "-"), matched[2] or "4.0"
        return Licence(
            said, f"CC-{kind}-{version}", f"https://creativecommons.org/licenses/{kind.lower()}/{version}/"
        )
    spdx, url = _OTHERS.get(name.upper().replace(" ", "-"), ("", ""))
    return Licence(said, spdx, url or (name if name.startswith("https://") else ""))
