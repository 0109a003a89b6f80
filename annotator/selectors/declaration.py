"""The HIT types that files declare, made from the stored content. It never changes, so each process makes each type only once."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from annotator.hit_types.base import HitType
from annotator.models import Declaration


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


@lru_cache(maxsize=256)
def declaration_kind(digest: str) -> HitType:
    """The HIT type of a stored file; one query the first time, none afterwards. Raises ``UnknownDeclaration``.

    The content is checked against the digest, so a type that is remembered by its digest is always the one that was meant,
    whoever stored it.
    """
    # Read when it's first used: processes whose studies use no such type start without the readers of YAML and JSON Schema.
    from annotator.hit_types.declaration.problems import DeclarationRefused
    from annotator.hit_types.declaration.reading import hit_type_read

    source = Declaration.objects.filter(digest=digest).values_list("source", flat=True).first()
    if source is None:
        raise UnknownDeclaration(f"the file of a HIT type is missing: {digest[:12]}")
    if source_digest(source) != digest:
        raise UnknownDeclaration(f"the file of a HIT type was changed: {digest[:12]}")
    try:
        return hit_type_read(source)
    except DeclarationRefused as error:
        # A later version of Foretell may refuse what an earlier one accepted.
        raise UnknownDeclaration(f"the file of a HIT type can't be read: {error}"[:500]) from None
