"""What it costs to check releases: ``python -m tests.evaluation.releases.costs FOLDER`` prints, as JSON, the result, the seconds and the
process's peak of memory in MB for each file of the folder, in the order of their names. The database is the one of ``DATABASE_URL``."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    warnings.simplefilter("ignore")
    from evaluation.releases.archive import ArchiveError
    from evaluation.releases.reading import release_open
    from evaluation.releases.reproduce import release_reproduce

    found = []
    for file in sorted(Path(sys.argv[1]).iterdir()):
        began = time.perf_counter()
        try:
            noticed = bool(release_reproduce(release_open(file)).problems)
        except ArchiveError:
            noticed = True
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found.append(
            {"file": file.name, "noticed": noticed, "seconds": time.perf_counter() - began, "peak": peak}
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
