"""Text in and out of files that may be compressed with gzip."""

import gzip
import io
import os
import re
import zlib
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn.utils import check_scalar

from skbn.messages import brief, cut

_GZIP = b"\x1f\x8b"
# Letters of what messages call a file.
_LONGEST_NAME = 200
_STEP = 2**20
# Of text that stands where a path should: it has lines, or begins as such files do.
_TEXT = re.compile(r"(?s).*\n|\s*(?:network|variable)\b[^/]*\{")
# How files of other formats begin, after their comments, and what reads them and writes BIF.
_COMMENTS = re.compile(r"(?:\s|%[^\n]*+|//(?! ~)[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_XML = r"(?:<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|\s)*+"
_AGRUM = "pyAgrum: pyagrum.saveBN(pyagrum.loadBN(path), 'network.bif')"
_BNLEARN = "R's bnlearn: write.bif('network.bif', {}(path))"
_FORMATS = [
    (re.compile(pattern), name, cure)
    for pattern, name, cure in (
        (rf"(?i){_XML}(?:<!DOCTYPE\s++BIF|<BIF\b)", "XMLBIF", _AGRUM),
        (rf"{_XML}<smile\b", "XDSL (GeNIe)", _AGRUM),
        (r"<", "XML", "the program that wrote it"),
        (r"(?:net|class\s++\w++)\s*+\{", "NET (Hugin)", _AGRUM),
        (r"net\s++\w++\s*+\{", "DSL (GeNIe)", _AGRUM),
        (r"(?:BAYES|MARKOV)\s++[0-9]", "UAI", _AGRUM),
        (r"belief\s++network\b", "DSC (MSBN)", _BNLEARN.format("read.dsc")),
        (r"// ~->\[|bnet\s++\w++\s*+\{", "DNE (Netica)", "Netica or GeNIe"),
        (r"[\[{]", "JSON", "the program that wrote it"),
        (r"RD[AX][23]\n|X\n\0\0", "data of R", _BNLEARN.format("readRDS")),
        (r"PK\x03\x04", "a zip archive", "unpacking it"),
    )
]


def refuse_other_formats(text: str, source: str) -> None:
    """Refuse what begins as files of other formats do, with the format's name."""
    start = _COMMENTS.match(text).end()
    for pattern, name, cure in _FORMATS:
        if pattern.match(text, start):
            raise ValueError(
                f"{source}, line {text.count(chr(10), 0, start) + 1}: this looks like {name}, and "
                f"read_bif reads BIF. Make BIF of it first, by {cure}."
            )


def read_text(path_or_file: Any, max_bytes: int) -> tuple[str, str]:
    """The text of a file and what messages call it.

    Parameters
    ----------
    path_or_file : path or file object
        Files are read as UTF-8 text; those that begin as gzip files do are decompressed first.
    max_bytes : int
        Largest number of bytes, after decompression.

    Raises
    ------
    ValueError
        For longer files, damaged compression and bytes that are no UTF-8.
    """
    check_scalar(max_bytes, "max_bytes", Integral, min_val=1)
    if isinstance(path_or_file, (str, os.PathLike)):
        path = str(path_or_file)
        source = cut(path, _LONGEST_NAME)
        if _TEXT.match(path) and not os.path.exists(path_or_file):
            raise ValueError(
                "read_bif takes a path or a file; pass io.StringIO(text). This is text that begins "
                f"with {brief(path[:40])}."
            )
        with open(path_or_file, "rb") as file:
            content = _read_bounded(file, source, max_bytes)
    elif hasattr(path_or_file, "read"):
        source = cut(str(getattr(path_or_file, "name", "the file")), _LONGEST_NAME)
        content = _read_bounded(path_or_file, source, max_bytes)
    else:
        raise TypeError(
            f"A path or a file object is needed, got {type(path_or_file).__name__}. Wrap text that "
            "is in memory: io.StringIO(text)."
        )
    if isinstance(content, bytes):
        content = _decode(content, source)
    return content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), source


def write_text(text: str, path_or_file: Any) -> None:
    """Write text as UTF-8, compressed where a path ends in ".gz".

    Parameters
    ----------
    text : str
    path_or_file : path or file object
        A text or a binary file.
    """
    if hasattr(path_or_file, "write"):
        if isinstance(path_or_file, io.TextIOBase):
            path_or_file.write(text)
        else:
            path_or_file.write(text.encode())
        return
    if not isinstance(path_or_file, (str, os.PathLike)):
        raise TypeError(
            f"path_or_file must be a path or a file object, got {type(path_or_file).__name__}."
        )
    content = text.encode()
    path = Path(path_or_file)
    if path.suffix.lower() == ".gz":
        # Without a time, so that the same network is the same file.
        content = gzip.compress(content, mtime=0)
    path.write_bytes(content)


def _read_bounded(file: Any, source: str, max_bytes: int) -> bytes | str:
    # In steps, since a file sets memory aside for all that it is asked for.
    parts: list[Any] = []
    size = 0
    while size <= max_bytes and (part := file.read(min(_STEP, max_bytes + 1 - size))):
        if not isinstance(part, (bytes, str)):
            raise TypeError(f"{source} gives {type(part).__name__}, neither text nor bytes.")
        parts.append(part)
        size += len(part)
    content = (b"" if parts and isinstance(parts[0], bytes) else "").join(parts)
    if isinstance(content, bytes) and content.startswith(_GZIP):
        _refuse_long(content, source, max_bytes)
        content = _decompress(content, source, max_bytes)
    _refuse_long(content, source, max_bytes)
    return content


def _decompress(content: bytes, source: str, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while size <= max_bytes and (part := file.read(min(_STEP, max_bytes + 1 - size))):
                parts.append(part)
                size += len(part)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        line = sum(part.count(b"\n") for part in parts) + 1
        raise ValueError(
            f"{source}, line {line}: the gzip compression is damaged or cut off here ({error})."
        ) from error
    return b"".join(parts)


def _refuse_long(content: bytes | str, source: str, max_bytes: int) -> None:
    if len(content) > max_bytes:
        raise ValueError(
            f"{source} holds more than max_bytes={max_bytes:,} bytes of text. Raise max_bytes if "
            "you trust the file."
        )


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse_other_formats(content[:_STEP].decode("latin-1"), source)
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{source}, line {line}: byte 0x{content[error.start]:02x} is no UTF-8 text. Open a "
            "file of another encoding yourself, open(path, encoding=...), and pass that."
        ) from error
