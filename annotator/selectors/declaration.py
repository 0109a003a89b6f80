"""The HIT types that files declare, made from the stored content. It never changes, so each process makes each type only once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from threading import Lock

from annotator.hit_types.base import HitType
from annotator.models import Declaration

#: Types that a process remembers, by their digests. One takes about 0.2 MB.
MOST_KEPT = 256
_kept: OrderedDict[str, HitType] = OrderedDict()
_lock = Lock()


def source_digest(source: str) -> str:
    """SHA-256 of a file's text in UTF-8, as ``sha256sum`` prints it.

    >>> source_digest("foretell_hit_type: 1")[:12]
    '3ce6fdb962b8'
    """
    return sha256(source.encode()).hexdigest()


class UnknownDeclaration(KeyError):
    """This server doesn't have the content with that digest, or what it has isn't it."""

    def __str__(self) -> str:
        return str(self.args[0])


def declaration_kind(digest: str) -> HitType:
    """The HIT type of a stored file; one query the first time, none afterwards. Raises ``UnknownDeclaration``."""
    with _lock:  # first, because a turn asks for its type three times
        if digest in _kept:
            _kept.move_to_end(digest)
            return _kept[digest]
    found = declaration_kinds([digest])
    if digest not in found:
        raise UnknownDeclaration(
            f"the file of a HIT type is missing, was changed, or can't be read: {digest[:12]}"
        )
    return found[digest]


def declaration_kinds(digests: Iterable[str]) -> dict[str, HitType]:
    """The HIT types of stored files by digest: one query for all that this process hasn't made yet. Unknown ones are left out.

    The content is checked against the digest, so a type that is remembered by its digest is always the one that was meant,
    whoever stored it.
    """
    wanted = list(dict.fromkeys(digests))
    with _lock:
        found = {digest: _kept[digest] for digest in wanted if digest in _kept}
        for digest in found:
            _kept.move_to_end(digest)
    missing = [digest for digest in wanted if digest not in found]
    if missing:
        rows = Declaration.objects.filter(digest__in=missing).values_list("digest", "source")
        made = {digest: kind for digest, source in rows if (kind := _made(digest, source))}
        with _lock:
            for digest, kind in made.items():
                # One object for a digest: classes of studies are kept by it.
                found[digest] = _kept.setdefault(digest, kind)
            while len(_kept) > MOST_KEPT:
                _kept.popitem(last=False)
    return found


def declaration_forget(digest: str) -> None:
    """Make the type anew at its next use. For tests: content doesn't change."""
    with _lock:
        _kept.pop(digest, None)


def _made(digest: str, source: str) -> HitType | None:
    # Imported when it's first used: processes whose studies use no such type start without the readers of YAML and JSON Schema.
    from annotator.hit_types.declaration.problems import DeclarationRefused
    from annotator.hit_types.declaration.reading import hit_type_read

    if source_digest(source) != digest:
        return None
    try:
        return hit_type_read(source)
    except DeclarationRefused:
        return None  # a later version of Foretell may refuse what an earlier one accepted
