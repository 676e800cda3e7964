"""Encodings: a Python file's bytes, in the encoding that it declares → its text as UTF-8, and back."""

from __future__ import annotations

import codecs
import io
import tokenize
import unicodedata
from functools import lru_cache


def encoding_of(content: bytes) -> str:
    """Return the encoding that a file declares; raises `SyntaxError` if Python does not know it."""
    return _encoding_by_head(content[: content.find(b"\n", content.find(b"\n") + 1) + 1] or content)


@lru_cache(maxsize=1024)
def _encoding_by_head(head: bytes) -> str:
    """Return the encoding that a file declares in the first two of these lines; raises `SyntaxError` likewise."""
    try:
        declared = tokenize.detect_encoding(io.BytesIO(head).readline)[0]
    except SyntaxError:
        if b"coding" in b"".join(head.splitlines()[:2]):
            raise
        return "utf-8"  # and not what that allows
    return codecs.lookup(declared.removesuffix("-sig")).name


def as_utf8(content: bytes) -> bytes:
    """Return a file's text as UTF-8 without a byte order mark; unchanged if it does not decode as it declares.

    Every byte offset into a module counts in this text.
    """
    bare = content.removeprefix(codecs.BOM_UTF8)
    try:
        encoding = encoding_of(content)
        return bare if encoding in ("utf-8", "ascii") else bare.decode(encoding).encode()
    except (SyntaxError, UnicodeError):
        return bare


def as_declared(text: bytes, like: bytes) -> bytes:
    """Return UTF-8 text in the encoding of a file, with its byte order mark; raises `UnicodeEncodeError`."""
    bom = codecs.BOM_UTF8 if like.startswith(codecs.BOM_UTF8) else b""
    encoding = encoding_of(like)
    return bom + (text if encoding == "utf-8" else text.decode().encode(encoding))


def as_names(source: bytes) -> bytes:
    """Return a source with every name in one spelling: of some letters Python takes several as one."""
    if source.isascii():
        return source
    return unicodedata.normalize("NFKC", source.decode("utf-8", "replace")).encode()
