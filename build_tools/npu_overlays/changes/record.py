"""Record: explained changes → the summary data and the diff that a wheel carries.

`npu_summary.changes` has the types of both and reads them again; its code is part of the wheel.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from npu_overlays.changes.reconciliation import Explained, ExplainedClass, ExplainedFile
from npu_overlays.contracts.lockfile import ArchiveRecord
from npu_overlays.contracts.pairs import PairedDistribution
from npu_overlays.merge.results import Declared, NotApplied
from npu_overlays.model.selectors import plain, selector
from npu_overlays.overlay.content import Content, StillAssigned
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import PatchedTree, Source
from npu_summary.changes import SCHEMA, Assigned, BuiltFrom, Change, Changes, ClassChange, FileChange, Manifest, Reason
from npu_summary.changes import NotApplied as RecordedNotApplied
from npu_summary.changes import Pair as RecordedPair

# The kinds of what has a name, and may be one of several definitions of it.
_NAMED = ("method", "class", "attribute", "import")


def summary_record(  # noqa: PLR0913  # one argument for each part of the summary
    *,
    content: Content,
    version: str,
    upstream_version: str,
    source: Source,
    archive: ArchiveRecord | None,
    files: Iterable[ExplainedFile],
    not_applied: Iterable[NotApplied],
    pairs: Sequence[PairedDistribution],
    effects: Mapping[tuple[str, str], str],
) -> Changes:
    """Return the content of ``changes.json``.

    Args:
        content: the overlay.
        version: version of the wheel, and of its companion.
        upstream_version: upstream's own version.
        source: where upstream's bytes came from.
        archive: how that archive differs from the commit; None for git.
        files: every change, with its reason.
        not_applied: operations on files the archive lacks.
        pairs: the patched distributions it is made for.
        effects: by path and symbol, the side effects of an addition or a deletion.
    """
    overlay = content.overlay
    record: Changes = {
        "schema": SCHEMA,
        "distribution": {"name": overlay.distribution, "version": version},
        "purpose": overlay.purpose,
        "upstream": {
            "project": overlay.pin.project,
            "version": upstream_version,
            "repository": overlay.pin.repository,
            "commit": overlay.pin.commit,
            "tag": overlay.pin.tag,
            "source": _built_from(source),
            "compared": archive is None or archive.compared,
            "missing": list(archive.missing) if archive else [],
        },
        "overlay": {
            "name": overlay.name,
            "revision": overlay.revision,
            "layers": list(content.layers),
            "sha256": content.digest,
        },
        "requires": [pair.requirement for pair in pairs],
        "pairs": list(map(_pair, pairs)),
        "companion": overlay.pin.project,
        "not_built": [overlay.pin.place(glob) or glob for glob in overlay.not_built],
        "files": [_with_effects(_file(overlay.pin, entry), effects) for entry in files],
        "not_applied": list(map(_not_applied, not_applied)),
    }
    if content.assigned:
        record["assigned"] = list(map(_assigned, content.assigned))
    return record


def _pair(pair: PairedDistribution) -> RecordedPair:
    return {
        "distribution": pair.distribution,
        "version": pair.version,
        "overlay": pair.overlay,
        "revision": pair.revision,
        "builds": list(pair.builds),
    }


def _not_applied(one: NotApplied) -> RecordedNotApplied:
    return {"path": one.path, "symbol": one.symbol, "operation": one.operation, "why": one.why}


def _assigned(one: StillAssigned) -> Assigned:
    assigned = one.assigned
    return {"when": assigned.when, "what": list(assigned.what), "why": assigned.why, "overlay": one.layer}


def _with_effects(file: FileChange, effects: Mapping[tuple[str, str], str]) -> FileChange:
    """Add the side effects of each change."""
    listed = [(change["name"], change) for change in file["module_changes"]]
    for entry in file["class_changes"]:
        listed += [(f"{entry['name']}.{one['name']}", one) for one in entry["changes"]]
    for name, change in listed:
        if (effect := effects.get((file["path"], name), "")) and change["action"] == change["operation"]:
            change["affects"] = effect
    return file


def _built_from(source: Source) -> BuiltFrom:
    if source.kind == "archive":
        return {"kind": source.kind, "archive": source.archive, "sha256": source.sha256}
    return {"kind": source.kind}


def _file(pin: Pin, entry: ExplainedFile) -> FileChange:
    return {
        "path": entry.file.path,
        "installed": pin.place(entry.file.path),
        "action": entry.file.action,
        "before": entry.file.before,
        "after": entry.file.after,
        "class_changes": list(map(_class, entry.class_changes)),
        "module_changes": [_change(one, one.change.symbol) for one in entry.module_changes],
    }


def _class(entry: ExplainedClass) -> ClassChange:
    prefix = f"{entry.entry.name}."
    changes = [_change(one, one.change.symbol.removeprefix(prefix)) for one in entry.changes]
    made: ClassChange = {"action": entry.entry.action, "name": entry.entry.name, "changes": changes}
    if entry.whole:
        made = {**made, "line": entry.entry.line, **_reason(entry.whole.declared)}
        if entry.whole.also:
            made["also"] = list(map(_reason, entry.whole.also))
    return made


def _change(explained: Explained, name: str) -> Change:
    change, reason = explained.change, _reason(explained.declared)
    made: Change = {
        "action": change.action,
        "kind": change.kind,
        "name": plain(name) if change.kind in _NAMED else name,
        "line": change.line,
        "operation": reason["operation"],
        "why": reason["why"],
        "forwarded": reason["forwarded"],
        "drop_when": reason["drop_when"],
        "overlay": reason["overlay"],
    }
    if change.kind in _NAMED and (texts := selector(name)):
        made["where"] = "; ".join(texts)
    if explained.declared.form:
        made["form"] = explained.declared.form
    if explained.also:
        made["also"] = list(map(_reason, explained.also))
    return made


def _reason(declared: Declared) -> Reason:
    return {
        "operation": declared.operation,
        "why": declared.reason.why,
        "forwarded": declared.reason.forwarded,
        "drop_when": declared.reason.drop_when,
        "overlay": declared.layer,
    }


def manifest(record: Changes, digests: Iterable[tuple[str, str]]) -> Manifest:
    """Return the content of ``manifest.json``: what was built, which an installation is later compared with.

    RECORD cannot serve: installers rewrite it, and another wheel may replace it.

    Args:
        record: the content of ``changes.json``.
        digests: of every other file of the wheel outside its dist-info the place and the sha256, hex.
    """
    return {"schema": SCHEMA, "distribution": record["distribution"], "files": dict(digests)}


def unified_diff(tree: PatchedTree) -> str:
    """Return the unified diff between upstream and the shipped files, for ``git apply`` and ``patch -p1``."""
    return "".join("".join(_file_diff(tree, path)) for path in sorted(tree.changed))


def _file_diff(tree: PatchedTree, path: str) -> Iterator[str]:
    before, after = tree.before(path), tree.after(path)
    if before == after:
        return
    old = f"a/{path}" if before is not None else "/dev/null"
    new = f"b/{path}" if after is not None else "/dev/null"
    yield f"diff --git a/{path} b/{path}\n"
    if before is None:
        yield f"new file mode {'100755' if tree.is_executable(path) else '100644'}\n"
    if after is None:
        yield f"deleted file mode {'100755' if tree.upstream.entries[path].executable else '100644'}\n"
    for line in difflib.unified_diff(_lines(before), _lines(after), old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(content: bytes | None) -> list[str]:
    r"""Return lines split at ``\n`` only, so that no other line end is taken for one or lost."""
    lines = (content or b"").decode("utf-8", errors="surrogateescape").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
