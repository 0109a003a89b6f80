"""Encrypted files: another key, damage and a cut are told apart, and nothing is given that wasn't authenticated."""

from __future__ import annotations

import io
import zlib

import pytest

from evaluation.moves.lines import lines_read
from evaluation.moves.sealed_file import CHUNK, TAG, Key, MoveError, Sealer, WrongKey, unsealed
from tests.evaluation.moves.files import KEY, sealed

HEAD = 50
PLAIN = bytes(range(256)) * (CHUNK // 128) + b"the end"


def opened(content: bytes, key: Key = KEY) -> bytes:
    return b"".join(unsealed(io.BytesIO(content), key))


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_a_file_of_any_size_is_read_back(size: int) -> None:
    file = sealed(PLAIN[:size]).getvalue()
    assert opened(file) == PLAIN[:size]
    assert PLAIN[:40] not in file or size == 0


def test_two_files_of_the_same_content_have_nothing_in_common() -> None:
    first, second = sealed(b"x" * 1000).getvalue(), sealed(b"x" * 1000).getvalue()
    assert first[HEAD:] != second[HEAD:]


def test_a_passphrase_opens_the_file_and_another_does_not() -> None:
    file = io.BytesIO()
    out = Sealer(file, Key.of_passphrase("a long passphrase"), cost=4)
    out.write(b"hello")
    out.close()
    assert opened(file.getvalue(), Key.of_passphrase("a long passphrase")) == b"hello"
    with pytest.raises(WrongKey, match="the passphrase is not the one"):
        opened(file.getvalue(), Key.of_passphrase("another passphrase"))
    with pytest.raises(WrongKey, match="encrypted with a passphrase"):
        opened(file.getvalue())


def test_another_key_file_is_told_apart_from_damage() -> None:
    file = bytearray(sealed(PLAIN).getvalue())
    with pytest.raises(WrongKey, match="the key file is not the one"):
        opened(bytes(file), Key.of_file(b"k" * 32))
    for at in (10, 30, 45):
        changed = bytearray(file)
        changed[at] ^= 1
        with pytest.raises(MoveError, match="first 50 bytes") as raised:
            opened(bytes(changed))
        assert not isinstance(raised.value, WrongKey)


@pytest.mark.parametrize("at", [HEAD, HEAD + CHUNK + TAG + 7, -1])
def test_a_flipped_bit_is_damage_and_says_where(at: int) -> None:
    changed = bytearray(sealed(PLAIN).getvalue())
    changed[at] ^= 4
    with pytest.raises(MoveError, match="is damaged"):
        opened(bytes(changed))


def test_a_cut_at_a_chunk_is_said_to_be_a_cut() -> None:
    file = sealed(PLAIN).getvalue()
    with pytest.raises(MoveError, match="is cut off: it ends after"):
        opened(file[: HEAD + CHUNK + TAG])
    with pytest.raises(MoveError, match="damaged or cut off in its last part"):
        opened(file[:-3])
    with pytest.raises(MoveError, match="not a file that Foretell wrote"):
        opened(file[:20])
    with pytest.raises(MoveError, match="cut off"):
        opened(file[:HEAD])


def test_chunks_cannot_be_exchanged_left_out_or_followed_by_others() -> None:
    file, step = sealed(PLAIN).getvalue(), CHUNK + TAG
    first, second, rest = (
        file[HEAD : HEAD + step],
        file[HEAD + step : HEAD + 2 * step],
        file[HEAD + 2 * step :],
    )
    for other in (second + first + rest, second + rest, first + rest, first + second + rest + b"more"):
        with pytest.raises(MoveError):
            opened(file[:HEAD] + other)


def test_a_key_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(MoveError, match="at least 12 characters"):
        Key.of_passphrase("short")
    with pytest.raises(MoveError, match="has 5 bytes"):
        Key.of_file(b"short")


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        (b"no deflate", "can't be unpacked"),
        (zlib.compress(b'{"a": 1}'), "the last line is cut off"),
        (zlib.compress(b"[1]\n"), "line 1: expected an object, got list"),
        (zlib.compress(b'{"a": NaN}\n'), "line 1: NaN"),
        (zlib.compress(b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}\n"), "nested"),
        (zlib.compress(b"{}\n")[:-4], "don't end"),
        (zlib.compress(b"{}\n") + b"more", "data after its end"),
    ],
)  # fmt: skip
def test_content_that_is_no_line_of_json_is_refused(plain: bytes, message: str) -> None:
    with pytest.raises(MoveError, match=message):
        list(lines_read(sealed(plain), KEY))


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"\n" * 2**20) for _ in range(80)) + packer.flush()
    packed = packed if len(packed) < 2**20 else packed[: 2**20]
    with pytest.raises(MoveError, match=r"400 times larger|line 1"):
        for _ in lines_read(sealed(packed), KEY):
            pass


def test_a_long_file_is_read_line_by_line() -> None:
    text = b"".join(b'{"n": %d}\n' % n for n in range(50_000))
    assert [line["n"] for line in lines_read(sealed(zlib.compress(text)), KEY)] == list(range(50_000))
