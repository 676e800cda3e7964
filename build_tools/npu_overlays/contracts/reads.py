"""Reads: the symbols that overlay code reads of upstream, as data for a lock and for comparing another tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Read:
    """One upstream symbol that overlay code reads, and its description; empty fields do not apply."""

    path: str  # repository path
    symbol: str  # qualified name; ``Class.name`` also for what a method gives to ``self``, or a base has
    kind: str = ""  # plain function, generator, …, class or attribute
    signature: str = ""  # of a function its parameters, of a class its bases
    called: str = ""  # of a class, what it is called with; ``()`` where its tree does not say
    decorators: str = ""  # in order
    returns: str = ""  # in which shapes a function returns
    value: str = ""  # of an attribute, as text or digest; where several expressions may give it its value, all of them
    entries: tuple[str, ...] = ()  # of a dictionary, each with its key
    body: str = ""  # fingerprint of all of it, where an author writes ``depends``
    # What reads it, as ``wrapped path/of/file.py:Class.method self.name``: operation, symbol, and how it is written
    # there; of an added file ``file path/of/file.py name``.
    by: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, bool]:
        """The key by which two sets of reads are compared: the symbol, and whether all of it counts."""
        return self.path, self.symbol, bool(self.body)

    @property
    def readers(self) -> frozenset[str]:
        """Its readers: `by` without the texts."""
        return frozenset(map(_reader, self.by))

    def read_by(self, readers: Iterable[str]) -> Read:
        """Return it with only some of its readers."""
        known = frozenset(readers)
        return replace(self, by=tuple(entry for entry in self.by if _reader(entry) in known))


@dataclass(frozen=True, kw_only=True)
class ReadOccurrence:
    """One place of an overlay that reads a symbol of upstream's."""

    read: Read  # what it reads, without ``by``
    reader: str  # which operation or added file, ``wrapped path/of/file.py:Class.method`` or ``file path/of/file.py``
    # How the overlay names what leads there, ``self.name``; ``upstream`` for what the original returns, ``depends`` for
    # what its author writes.
    written: str
    where: str  # file and line in the overlay


def recorded(readings: Iterable[ReadOccurrence]) -> tuple[Read, ...]:
    """Return a lock's entries for reads: each symbol once, in order, with all its readers."""
    found: dict[tuple[str, str, bool], tuple[Read, set[str]]] = {}
    for one in readings:
        found.setdefault(one.read.key, (one.read, set()))[1].add(f"{one.reader} {one.written}")
    return tuple(replace(read, by=tuple(sorted(by))) for _, (read, by) in sorted(found.items()))


def kept(
    now: Iterable[Read], earlier: Iterable[Read], readers: Iterable[str], absent: frozenset[str]
) -> tuple[Read, ...]:
    """Return reads, and those of an earlier lock that this source can neither confirm nor deny.

    Args:
        now: the reads that were found.
        earlier: of the earlier lock, made for the same pin.
        readers: the parts of the overlay; others are gone.
        absent: paths that the source lacks.
    """
    found = {read.key: read for read in now}
    known = frozenset(readers)
    for read in earlier:
        unseen = {one for one in read.readers & known if read.path in absent or _path(one) in absent}
        if unseen:
            there = found.get(read.key, replace(read, by=()))
            found[read.key] = replace(there, by=tuple(sorted({*there.by, *read.read_by(unseen).by})))
    return tuple(sorted(found.values(), key=lambda read: read.key))


def _reader(entry: str) -> str:
    return entry.rpartition(" ")[0]


def _path(reader: str) -> str:
    return reader.partition(" ")[2].partition(":")[0]
