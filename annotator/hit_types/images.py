"""Images in study material: how a text names one, and how a model reads it.

A text of format ``image`` is one line of Markdown, in the file and in the stored item alike::

    ![A cat on a mat](cat.png "640x480 sha256:9f86d081...")

The alternative text is required: it is what a person who can't see the image hears, and what a model is given. The
researcher writes ``![A cat on a mat](cat.png)``, or the file's name alone with the text in the column ``alt``; the import
adds the size and the digest of the file that was uploaded under this name. In place of a file's name, a row can have an address, from
which the import fetches the image once; stored items never have one.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

IMAGE = "image"
MAX_ALT = 1_000
#: Stands for an image in the prompt of a model that is sent the image itself.
MARKER = re.compile(r"\[\[image sha256:(?P<digest>[0-9a-f]{64})\]\]")
_REFERENCE = re.compile(
    r'!\[(?P<alt>.*)\]\((?P<name>.+?)(?: "(?P<width>[0-9]{1,5})x(?P<height>[0-9]{1,5}) sha256:(?P<digest>[0-9a-f]{64})")?\)',
    re.DOTALL,
)
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}:)?//|data:", re.IGNORECASE)
_FILE_NAME = re.compile(r"[^\n]{1,145}\.[A-Za-z]{3,4}")
_HOW = "write ![what the image shows](file.png), or the file's name here and what it shows in the column alt"


@dataclass(frozen=True)
class StoredImage:
    """An uploaded file: the SHA-256 of its bytes, and its size in pixels."""

    digest: str
    width: int
    height: int


@dataclass(frozen=True)
class ImageText:
    """A text that names an image. ``stored`` is None where it names a file that nobody has uploaded."""

    alt: str
    name: str
    stored: StoredImage | None = None

    def __str__(self) -> str:
        title = ""
        if self.stored is not None:
            title = f' "{self.stored.width}x{self.stored.height} sha256:{self.stored.digest}"'
        return f"![{self.alt}]({self.name}{title})"


def parts_of(text: str, images: Mapping[str, T]) -> list[str | T]:
    """A text with markers in parts: texts, and the images that it names, by digest. Markers of other images stay text.

    >>> parts_of("Look: [[image sha256:" + "ab" * 32 + "]] A cat?", {"ab" * 32: 7})
    ['Look: ', 7, ' A cat?']
    """
    parts: list[str | T] = []
    start = 0
    for found in MARKER.finditer(text):
        if (image := images.get(found["digest"])) is not None:
            parts += [text[start : found.start()], image]
            start = found.end()
    return [part for part in (*parts, text[start:]) if part != ""]


def read_image(text: str) -> ImageText | None:
    """The image that a text names; None if it names none.

    >>> read_image("![A cat [asleep]](my cat (1).png)")
    ImageText(alt='A cat [asleep]', name='my cat (1).png', stored=None)
    """
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        return None
    stored = None
    if found["digest"]:
        stored = StoredImage(found["digest"], int(found["width"]), int(found["height"]))
    return ImageText(" ".join(found["alt"].split()), found["name"].strip(), stored)


def image_fault(text: str) -> str:
    """What is wrong with a text of format ``image``; empty if nothing is.

    >>> image_fault("![](cat.png)")[:42]
    "the image 'cat.png' has no alternative tex"
    """
    found = read_image(text)
    if found is None:
        return f"is not an image: {_HOW}"
    if is_address(found.name):
        return (
            f"the image {found.name[:80]!r} is an address, and images of other servers are never shown: upload the file, and write"
            " its name here"
        )
    return _alt_fault(found)


def is_address(name: str) -> bool:
    """Whether the name of an image is an address instead of a file's name.

    >>> is_address("https://example.org/cat.png"), is_address("data:image/png;base64,AA"), is_address("cat.png")
    (True, True, False)
    """
    return bool(_ADDRESS.match(name))


def _alt_fault(found: ImageText) -> str:
    if not found.alt:
        return f"the image {found.name!r} has no alternative text: {_HOW}"
    if len(found.alt) > MAX_ALT:
        return f"the alternative text has {len(found.alt)} characters; expected at most {MAX_ALT:,}"
    return ""


def image_words(text: str) -> str:
    """A text that names an image as a model reads it; any other text unchanged.

    >>> image_words("![A cat on a mat](cat.png)")
    '[An image that you cannot see. It is described as: A cat on a mat]'
    """
    found = read_image(text)
    return f"[An image that you cannot see. It is described as: {found.alt}]" if found else text


def images_in_words(payload: Mapping[str, Any]) -> dict[str, Any]:
    """An item with each image replaced by its description, for a model's prompt.

    >>> images_in_words({"input": "![An owl](o.png)", "formats": {"input": "image"}})["input"]
    '[An image that you cannot see. It is described as: An owl]'
    """
    return _images_changed(payload, image_words)


def _images_changed(payload: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    return {**payload, **{name: each_text(payload.get(name), change) for name in image_columns(payload)}}


def image_marker(text: str) -> str:
    """A text that names an uploaded image as a marker; the description where nobody has uploaded it.

    >>> image_marker('![A cat](cat.png "640x480 sha256:' + "ab" * 32 + '")')[:28]
    '[[image sha256:ababababababa'
    """
    found = read_image(text)
    return f"[[image sha256:{found.stored.digest}]]" if found and found.stored else image_words(text)


def images_as_markers(payload: Mapping[str, Any]) -> dict[str, Any]:
    """An item with a marker for each image, for the prompt of a model that is sent the images themselves."""
    return _images_changed(payload, image_marker)


def images_by_digest(payload: Mapping[str, Any]) -> dict[str, ImageText]:
    """The uploaded images that an item shows, by the digest of their files."""
    found: dict[str, ImageText] = {}

    def note(text: str) -> str:
        image = read_image(text)
        if image is not None and image.stored is not None:
            found[image.stored.digest] = image
        return text

    for name in image_columns(payload):
        each_text(payload.get(name), note)
    return found


def image_names(payload: Mapping[str, Any]) -> list[str]:
    """The names of the files that an item shows, as its texts give them.

    >>> image_names({"input": "![An owl](o.png)", "alt": "", "formats": {"input": "image"}})
    ['o.png']
    """
    found: list[str] = []

    def note(text: str) -> str:
        if (image := read_image(text)) is not None:
            found.append(image.name)
        return text

    for name in image_columns(payload):
        each_text(payload.get(name), note)
    return found


def image_columns(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of a row, or the parts of an item, that are declared as images under ``formats``."""
    declared = values.get("formats")
    if isinstance(declared, str) and IMAGE in declared:
        try:
            declared = json.loads(declared)
        except (ValueError, RecursionError):
            return ()
    if not isinstance(declared, Mapping):
        return ()
    return tuple(name for name, kind in declared.items() if kind == IMAGE)


def each_text(value: Any, change: Any) -> Any:
    """A text, or each text of a list of texts or of objects with ``text`` or ``explanation``, changed by a function."""
    if isinstance(value, str):
        return change(value)
    if not isinstance(value, list):
        return value
    changed: list[Any] = []
    for one in value:
        if isinstance(one, str):
            changed.append(change(one))
        elif isinstance(one, Mapping):
            part = "text" if "text" in one else "explanation"
            text = one.get(part)
            changed.append({**one, part: change(text)} if isinstance(text, str) else one)
        else:
            changed.append(one)
    return changed


def images_resolve(
    values: Mapping[str, Any],
    known: Mapping[str, StoredImage] | None,
    *,
    at_address: Callable[[ImageText, str], ImageText] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """A row or an item with the digest of each image that it names, and the errors by column.

    ``known`` has the study's uploaded images by file name. A text that has a digest already keeps it if a known file has
    the same. With None, images are only named, since nobody has uploaded any: those in the file of a HIT type.

    ``at_address`` gets an image that is named by its address, and its column, and returns the stored one, or raises ``ValueError``
    with what is wrong. Without it, addresses are refused.

    >>> owl = StoredImage("ab" * 32, 640, 480)
    >>> row = {"input": "owl.png", "alt": "An owl", "formats": {"input": "image"}}
    >>> images_resolve(row, {"owl.png": owl})[0]["input"][:33]
    '![An owl](owl.png "640x480 sha256'
    """
    resolved, errors = dict(values), dict[str, str]()
    columns = image_columns(values)
    alt = values.get("alt")
    alt = " ".join(alt.split()) if isinstance(alt, str) else ""
    bare = 0

    for name in columns:

        def named(text: str, name: str = name) -> str:
            nonlocal bare
            if not text.strip():
                return text
            found = read_image(text)
            if found is None:
                if not (_FILE_NAME.fullmatch(text.strip()) or is_address(text.strip())):
                    return text  # the type says what is expected in this column
                bare += 1
                found = ImageText(alt, text.strip())
            if at_address is not None and is_address(found.name):
                fault = _alt_fault(found)
                try:
                    found = found if fault else at_address(found, name)
                except ValueError as refused:
                    fault = str(refused)
            else:
                fault = image_fault(str(found)) or ("" if known is None else _unknown(found, known))
            if fault:
                errors.setdefault(name, fault)
                return text
            if found.stored is None and known is not None and found.name in known:
                found = ImageText(found.alt, found.name, known[found.name])
            return str(found)

        value = values.get(name)
        if isinstance(value, str) and value.strip()[:1] == "[":
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                continue
        resolved[name] = each_text(value, named)
    if bare > 1 and not errors:
        errors["alt"] = (
            f"describes one image, and this row names {bare}: write ![what it shows](file.png) for each"
        )
    return resolved, errors


def _unknown(image: ImageText, known: Mapping[str, StoredImage]) -> str:
    if image.stored is not None:
        if image.stored in known.values():
            return ""
        return f"the image {image.name!r} with this digest has not been uploaded to the study"
    if image.name in known:
        return ""
    close = difflib.get_close_matches(image.name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ": upload it first"
    return f"no image named {image.name!r} has been uploaded to the study{hint}"
