"""Images of a study: checked and stored when uploaded, shared between studies of a workspace, removed with the last one."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import IO

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core.archives import ARCHIVE_ERRORS
from annotator.core.stored_files import file_store_whole
from annotator.core.words import plural
from annotator.models import AuditAction, Study, StudyImage, User, Workspace
from annotator.selectors.images import images_used
from annotator.selectors.storage import storage_room
from annotator.selectors.study import known_hit_type
from annotator.services.audit import audit_write

#: Problems and names of one upload that are listed.
FAULTS_SHOWN = 100
FOLDER = "images"
#: Pillow's name of a format -> what browsers call it. SVG isn't here: it is a program, not a picture.
MEDIA_TYPES = {
    "PNG": StudyImage.MediaType.PNG,
    "JPEG": StudyImage.MediaType.JPEG,
    "WEBP": StudyImage.MediaType.WEBP,
    "GIF": StudyImage.MediaType.GIF,
}
EXTENSIONS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
#: A file without a row is removed after this: an upload writes its file before its row can be seen.
ORPHAN_HOURS = 6


@dataclass(frozen=True)
class CheckedImage:
    """The bytes of an image that has been decoded completely, and what they are."""

    name: str
    content: bytes
    media_type: str
    width: int
    height: int

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class ImagesUploaded:
    """What an upload added; ``unchanged`` files were there already under the same name."""

    added: list[StudyImage] = field(default_factory=list)
    unchanged: int = 0

    def __str__(self) -> str:
        """
        >>> str(ImagesUploaded(unchanged=1))
        '0 images added. 1 image was there already.'
        """
        known = (
            f" {plural(self.unchanged, 'image')} {'was' if self.unchanged == 1 else 'were'} there already."
        )
        return f"{plural(len(self.added), 'image')} added.{known if self.unchanged else ''}"


def image_check(*, name: str, content: bytes) -> CheckedImage:
    """Decode an image to be sure that it is one. Raises ``ValueError`` with the problem.

    The type is that of the content, not of the file's name. Its size in pixels is read before anything is decoded, so
    a small file can't unpack into a huge picture.
    """
    # Imported where it is needed: most processes never see an image.
    from PIL import Image, UnidentifiedImageError

    short = PurePosixPath(name.replace("\\", "/")).name
    if not short or len(short) > 150 or any(ord(letter) < 32 for letter in short) or '"' in short:
        raise ValueError(
            "has a name that can't be used; expected at most 150 characters, without quotation marks"
        )
    if len(content) > settings.IMAGE_MAX_BYTES:
        raise ValueError(
            f"is too large; expected at most {settings.IMAGE_MAX_BYTES / 1e6:,.0f} MB. Make the image smaller."
        )
    try:
        with Image.open(io.BytesIO(content), formats=tuple(MEDIA_TYPES)) as picture:
            width, height = picture.size
            if width * height > settings.IMAGE_MAX_PIXELS:
                raise ValueError(
                    f"has {width:,} x {height:,} pixels; expected at most {settings.IMAGE_MAX_PIXELS / 1e6:,.0f} million. "
                    "Make the image smaller."
                )
            if getattr(picture, "n_frames", 1) > 1:
                raise ValueError("is animated. Upload a still image.")
            kind = MEDIA_TYPES[str(picture.format)]
            picture.load()
    except UnidentifiedImageError:
        raise ValueError("is not an image of a known type. Upload PNG, JPEG, WebP or GIF.") from None
    except (OSError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise ValueError(f"is damaged and can't be shown: {error}") from None
    return CheckedImage(short, content, kind, width, height)


def zip_images(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each file in a zip archive. Raises ``ValidationError`` if it isn't one or is too large.

    Files that systems add by themselves (``__MACOSX``, ``.DS_Store``) are skipped.
    """
    try:
        archive = zipfile.ZipFile(file)
    except ARCHIVE_ERRORS:
        raise ValidationError("The file is not a zip archive.") from None
    with archive:
        # Not ``is_dir``, which fails on an entry without a name.
        members = [
            one
            for one in archive.infolist()
            if not one.filename.endswith("/") and not _is_hidden(one.filename)
        ]
        if len(members) > settings.IMAGES_PER_UPLOAD:
            raise ValidationError(
                f"The archive has {len(members):,} files; expected at most {settings.IMAGES_PER_UPLOAD:,} at a time."
            )
        for one in members:
            try:
                with archive.open(one) as packed:
                    # At most the allowed bytes, whatever size the archive states.
                    content = packed.read(settings.IMAGE_MAX_BYTES + 1)
            except ARCHIVE_ERRORS as error:
                raise ValidationError(f"{one.filename}: can't be unpacked: {error}") from None
            yield one.filename, content


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def uploads_unpacked(files: Iterable[UploadedFile]) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each uploaded image, those in zip archives included. Raises ``ValidationError``."""
    for file in files:
        name = str(file.name)
        if name.lower().endswith(".zip"):
            yield from zip_images(file)
        else:
            yield name, file.read(settings.IMAGE_MAX_BYTES + 1)


def folder_images(folder: Path) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each image file in a folder, by its extension. Raises ``ValidationError`` if it isn't a folder."""
    if not folder.is_dir():
        raise ValidationError(f"{folder}: is not a folder")
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix.lower() in EXTENSIONS:
            with path.open("rb") as file:
                yield path.name, file.read(settings.IMAGE_MAX_BYTES + 1)


@transaction.atomic
def images_add(*, study: Study, files: Iterable[tuple[str, bytes]], by: User | None = None) -> ImagesUploaded:
    """Store images under the names of their files, all or none.

    If the study already has the name with the same content, nothing changes. Raises ``ValidationError`` with a message
    for each file that can't be used, or if the workspace has no room for them. ``files`` are read one after the other.
    """
    study = _locked(study)
    known = dict(study.images.values_list("name", "digest"))
    result, faults, added = ImagesUploaded(), list[str](), 0
    room = storage_room(workspace=study.workspace_id)
    for name, content in files:
        try:
            image = image_check(name=name, content=content)
        except ValueError as error:
            faults.append(f"{name}: {error}")
            continue
        if image.name in known:
            if known[image.name] == image.digest:
                result.unchanged += 1
            else:
                faults.append(
                    f"{image.name}: the study has another image with this name. Rename the file, or delete the other one first."
                )
            continue
        known[image.name] = image.digest
        added += len(content)
        room.check(added)
        if not faults:
            result.added.append(_store(study, image))
    if faults:
        raise ValidationError(faults[:FAULTS_SHOWN])
    if result.added:
        names = [image.name for image in result.added]
        audit_write(
            action=AuditAction.IMAGES_ADDED,
            study=study,
            by=by,
            after={"images": names[:FAULTS_SHOWN], "count": len(names)},
        )
    return result


def image_file_store(*, study: Study, image: CheckedImage) -> str:
    """Store the file of an image for the study's workspace; returns its name in the storage, which its digest determines."""
    owner = f"workspace-{study.workspace_id}" if study.workspace_id else f"study-{study.pk}"
    path = f"{FOLDER}/{owner}/{image.digest[:2]}/{image.digest}"
    if not default_storage.exists(path):
        file_store_whole(path, image.content)
    return path


def _store(study: Study, image: CheckedImage) -> StudyImage:
    path = image_file_store(study=study, image=image)
    return StudyImage.objects.create(
        study=study, name=image.name, digest=image.digest, media_type=image.media_type, width=image.width,
        height=image.height, size=len(image.content), file=path,
    )  # fmt: skip


def _locked(study: Study) -> Study:
    """The study, while nobody else adds or removes images in its workspace."""
    if study.workspace_id:
        Workspace.objects.select_for_update().get(pk=study.workspace_id)
    return Study.objects.select_for_update().get(pk=study.pk)


@transaction.atomic
def image_delete(*, image: StudyImage, by: User | None = None) -> None:
    """Delete an image that nothing in the study shows. Raises ``ValidationError`` if an item or a question does."""
    study = _locked(image.study)
    if image.digest in images_used(study=study):
        raise ValidationError(
            f"{image.name} is shown by an item, a question or an earlier version, so it is kept."
        )
    image.delete()
    audit_write(action=AuditAction.IMAGE_DELETED, study=study, by=by, target=image.name)
    transaction.on_commit(lambda: files_release([image.file], workspace_pk=study.workspace_id))


def images_copy(*, study: Study, copy: Study) -> None:
    """Give a copy of a study its images: all of them, or in another workspace those that the copy itself shows.

    Files are shared within a workspace; another one gets its own. Raises ``ValidationError`` if a file is missing.
    """
    _locked(copy)
    if copy.workspace_id == study.workspace_id:
        names = ("name", "digest", "media_type", "width", "height", "size", "file")
        StudyImage.objects.bulk_create(
            StudyImage(study=copy, **{name: getattr(one, name) for name in names})
            for one in study.images.all()
        )
        return
    kind = known_hit_type(copy)
    by_name = Q(name__in=kind.images_shown() if kind else ())
    for one in study.images.filter(Q(digest__in=images_used(study=copy)) | by_name):
        try:
            with default_storage.open(one.file) as file:
                content = file.read()
        except FileNotFoundError:
            raise ValidationError(
                f"The file of the image {one.name} is missing on the server, so the study can't be copied. "
                "Restore DATA_DIR/files from a backup, or use another image."
            ) from None
        _store(copy, CheckedImage(one.name, content, one.media_type, one.width, one.height))


def files_release(paths: Iterable[str], *, workspace_pk: int | None) -> None:
    """Delete files that no study shows any more."""
    with transaction.atomic():
        if workspace_pk:
            Workspace.objects.select_for_update().filter(pk=workspace_pk).first()
        for path in set(paths):
            if not StudyImage.objects.filter(file=path).exists():
                default_storage.delete(path)


def images_sweep() -> int:
    """Delete files that an interrupted upload or removal left behind; returns how many."""
    old = timezone.now() - timedelta(hours=ORPHAN_HOURS)
    gone = 0
    for owner in _folders(FOLDER):
        for part in _folders(f"{FOLDER}/{owner}"):
            folder = f"{FOLDER}/{owner}/{part}"
            paths = [f"{folder}/{name}" for name in default_storage.listdir(folder)[1]]
            known = set(StudyImage.objects.filter(file__in=paths).values_list("file", flat=True))
            left = [path for path in paths if path not in known and _modified_before(path, old)]
            workspace = owner.removeprefix("workspace-")
            files_release(left, workspace_pk=int(workspace) if workspace.isdecimal() else None)
            gone += len(left)
    return gone


def _folders(path: str) -> list[str]:
    with suppress(FileNotFoundError):
        return default_storage.listdir(path)[0]
    return []


def _modified_before(path: str, moment: object) -> bool:
    with suppress(FileNotFoundError):
        return bool(default_storage.get_modified_time(path) < moment)  # type: ignore[operator]
    return False
