"""Notices: a patched module with the comments that mark its changes → the same without them, also once edited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Block = tuple[bytes, ...]


def notice_blocks(marked: bytes, plain: bytes) -> tuple[Block, ...]:
    """Return the comments that a merge puts in, as lines without white space around them, the longest first.

    Args:
        marked: the merged module.
        plain: the same, merged without them.
    """
    return tuple(sorted(set(_blocks(marked.splitlines(), plain.splitlines())), key=len, reverse=True))


def without_notices(content: bytes, blocks: Sequence[Block]) -> bytes:
    """Return a text without any of these comments, wherever they stand by now."""
    lines = content.splitlines(keepends=True)
    bare = [line.strip() for line in lines]
    kept: list[bytes] = []
    at = 0
    while at < len(lines):
        found = next((block for block in blocks if tuple(bare[at : at + len(block)]) == block), ())
        if not found:
            kept.append(lines[at])
        at += len(found) or 1
    return b"".join(kept)


def _blocks(marked: Sequence[bytes], plain: Sequence[bytes]) -> Iterator[Block]:
    at = 0
    block: list[bytes] = []
    for line in marked:
        if at < len(plain) and line == plain[at]:
            at += 1
            if block:
                yield tuple(block)
            block = []
        else:
            block.append(line.strip())
    if block:
        yield tuple(block)
