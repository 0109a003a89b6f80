"""Images that an import's rows name by their address: fetched once, checked and stored as if they had been uploaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from annotator.core.outgoing.fetch import FetchLimits, NotFetched, address_check, files_fetch
from annotator.core.tables.faults import FaultLog
from annotator.core.words import plural
from annotator.hit_types.images import ImageText, StoredImage
from annotator.selectors.outgoing import host_policy
from annotator.services.images import MEDIA_TYPES, image_check

#: How many different addresses an import may name.
MOST_ADDRESSES = 200
LONGEST_ADDRESS = 2_000
#: Seconds for one image; for all of an import within a request, which somebody waits for; and for all in a worker or a command.
SECONDS_EACH, SECONDS_IN_REQUEST, SECONDS_ALONE = 10.0, 20.0, 300.0
_ACCEPT = ", ".join(sorted(MEDIA_TYPES.values()))


@dataclass
class _Named:
    """Where an address is first named, and in how many further places."""

    line: int
    column: str
    more: int = 0


@dataclass(frozen=True)
class _Fetched:
    """A checked image in a temporary folder, and the name that the study gives it."""

    name: str
    stored: StoredImage
    path: Path


@dataclass
class ImageAddresses:
    """The addresses that the rows of one import name, and what was fetched from them.

    The rows are read twice: first to find all addresses and the faults of the file, without sending a request or keeping anything;
    then, outside of any lock, each address is fetched; then the rows are read again and stored.
    """

    named: dict[str, _Named] = field(default_factory=dict)
    fetched: dict[str, _Fetched] = field(default_factory=dict)

    def image_at(self, image: ImageText, *, line: int, column: str) -> ImageText:
        """The stored image for one that is named by its address; before it is fetched, one without a digest.

        Raises ``ValueError`` with what is wrong with the address.
        """
        address = image.name
        if (found := self.fetched.get(address)) is not None:
            return ImageText(image.alt, found.name, found.stored)
        self._note(address, line, column)
        return ImageText(image.alt, address.partition("://")[2])

    def _note(self, address: str, line: int, column: str) -> None:
        if (known := self.named.get(address)) is not None:
            known.more += 1
            return
        what = f"the image {address[:80]!r}"
        if not address.lower().startswith(("https://", "http://")) or len(address) > LONGEST_ADDRESS:
            raise ValueError(
                f"{what} can't be fetched: expected an address that begins with https:// and has at most {LONGEST_ADDRESS:,} characters"
            )
        try:
            address_check(address, host_policy())
        except ValueError as refused:
            raise ValueError(f"{what} can't be fetched: {refused}") from None
        if len(self.named) == MOST_ADDRESSES:
            raise ValueError(
                f"{what} can't be fetched: an import fetches at most {MOST_ADDRESSES} images, because it waits for other servers. "
                "Upload the images as a zip archive, and write the names of their files here"
            )
        self.named[address] = _Named(line, column)

    @property
    def unfetched(self) -> bool:
        return len(self.named) > len(self.fetched)

    @contextmanager
    def fetch(self, *, file: str, seconds: float) -> Iterator[None]:
        """Fetch all images into a folder that is there as long as the block. Raises ``FileRefused`` with each that can't be used."""
        log = FaultLog(file)
        with TemporaryDirectory(prefix="foretell-images-") as folder:
            limits = FetchLimits(settings.IMAGE_MAX_BYTES, SECONDS_EACH, seconds)
            arrived = files_fetch(
                list(self.named), to=Path(folder), policy=host_policy(), limits=limits, accept=_ACCEPT
            )
            for address, outcome in arrived.items():
                try:
                    if isinstance(outcome, NotFetched):
                        raise outcome
                    self.fetched[address] = _checked(outcome)
                except ValueError as refused:
                    self._tell(log, address, refused)
            log.check()
            yield

    def _tell(self, log: FaultLog, address: str, refused: ValueError) -> None:
        named = self.named[address]
        more = f" ({plural(named.more, 'more place')} in the file)" if named.more else ""
        log.add(
            f"the image can't be fetched{more}: {refused}. Check that the address opens an image in a browser where nobody is"
            " logged in, or upload the image and write the name of its file here",
            line=named.line,
            field=named.column,
            value=address,
        )

    def files(self) -> Iterator[tuple[str, bytes]]:
        """(name, bytes) of each fetched image, once."""
        paths = {one.name: one.path for one in self.fetched.values()}
        for name, path in paths.items():
            yield name, path.read_bytes()


def _checked(path: Path) -> _Fetched:
    """Check a fetched file as an upload. Its name comes from its content, so that the same image has the same name again."""
    image = image_check(name="image", content=path.read_bytes())
    kind = image.media_type.rpartition("/")[2]
    return _Fetched(f"{image.digest[:16]}.{kind}", StoredImage(image.digest, image.width, image.height), path)
