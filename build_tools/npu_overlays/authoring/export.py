"""Export: a series of commits → patches that lead from upstream to the same tree, as files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from npu_overlays.authoring.checkout.commit_series import OverlayCommit
from npu_overlays.authoring.checkout.repository import Repository
from npu_overlays.authoring.new_folder import new_folder, refuse_present
from npu_overlays.overlay.operations import joined_reasons
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_summary.plurals import plural

Style = Literal["git-am", "patch-dir"]
# With these a patch does not depend on the machine, and any file can be in it.
_DIFF = ("--full-index", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_MAIL = ("--no-signature", "--zero-commit", "--no-stat", "--no-attach", "--no-base", "--no-cover-letter")
_NAME = 60


def export(subject: AppliedInput, made: Sequence[OverlayCommit], folder: Path, style: Style) -> list[Path]:
    """Write one patch for each commit.

    Args:
        subject: the overlay and its upstream.
        made: the commits.
        folder: where; it may be there, as an empty folder.
        style: ``git-am``, mails as ``git am`` takes them; or ``patch-dir``, what lies in an overlay's ``patches/``.

    Returns:
        The files, in the order in which they are to be applied.

    Raises:
        UsageError: something is there already.
        OutputError: they cannot be written.
    """
    refuse_present(folder)
    step(f"writing {plural(len(made), 'patch', 'patches')}")
    with tempfile.TemporaryDirectory(prefix="npu-overlays-export-") as place:
        repository = Repository(Path(place))
        base = repository.start(subject)
        head = repository.commit(subject, base, made)
        made_as = _mails if style == "git-am" else _plain
        patches = dict(made_as(repository, base, head, made))
    with new_folder(folder, option="--out", fix="name another folder with --out") as stage:
        for name, content in patches.items():
            (stage / name).write_bytes(content)
    return [folder / name for name in patches]


def _mails(repository: Repository, base: str, head: str, made: Sequence[OverlayCommit]) -> Iterator[tuple[str, bytes]]:
    if not made:
        return
    repository.git("format-patch", "--quiet", *_DIFF, *_MAIL, "--output-directory=.git/mails", f"{base}..{head}")
    for file in sorted((repository.folder / ".git" / "mails").iterdir()):
        yield file.name, file.read_bytes()


def _plain(repository: Repository, base: str, head: str, made: Sequence[OverlayCommit]) -> Iterator[tuple[str, bytes]]:
    ids = repository.line("rev-list", "--reverse", f"{base}..{head}").split()
    for number, (commit, one) in enumerate(zip(ids, made, strict=True), start=1):
        diff = repository.git("diff", *_DIFF, f"{commit}^", commit)
        title = one.message.partition("\n")[0]
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", title)[:_NAME].strip("-.")
        yield f"{number:04}-{slug}.patch", _header(one).encode() + b"\n" + diff


def _header(commit: OverlayCommit) -> str:
    """Return what stands above the diff: the reasons in the fields that a patch of an overlay has."""
    fields = {"Why": joined_reasons(unit.reason.why for unit in commit.units), **commit.units[0].fields}
    return "".join(f"{name}: {value}\n" for name, value in fields.items())
