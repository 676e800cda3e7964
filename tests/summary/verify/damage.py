"""Kinds of damage: how each is done to an installation, and what verify must say of it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import marshal
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.patched import MODEL, InstalledSite, compile_all

MODEL_FILE = "transformers/models/model.py"
TRAINER = "verl/trainer.py"


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One kind of damage.

    Args:
        name: in words.
        do: does it to a site.
        kinds: the kinds of findings there must be, and no others.
        says: text that must stand in what is said, each part of it.
        status: what it comes to.
        repaired_by: whether the printed commands put it right when they are run.
    """

    name: str
    do: Callable[[InstalledSite], None]
    kinds: set[str]
    says: tuple[str, ...] = ()
    status: str = "damaged"
    repaired_by: bool = True


def _append(name: str, content: bytes = b"\n# changed\n") -> Callable[[InstalledSite], None]:
    return lambda site: site.write(name, site.path(name).read_bytes() + content)


def _write(name: str, content: bytes = b"x = 1\n") -> Callable[[InstalledSite], None]:
    return lambda site: site.write(name, content)


def _remove(*names: str) -> Callable[[InstalledSite], None]:
    def do(site: InstalledSite) -> None:
        for name in names:
            path = site.path(name)
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return do


def _all(*steps: Callable[[InstalledSite], None]) -> Callable[[InstalledSite], None]:
    def do(site: InstalledSite) -> None:
        for step in steps:
            step(site)

    return do


def _same_size_and_date(site: InstalledSite) -> None:
    path = site.path(MODEL_FILE)
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"eps = 1", b"eps = 2"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _older(site: InstalledSite) -> None:
    """Edit a file and date it before the installation."""
    site.write(TRAINER, site.path(TRAINER).read_bytes() + b"\n# x\n")
    os.utime(site.path(TRAINER), (1, 1))


def _crlf(site: InstalledSite) -> None:
    site.write(TRAINER, site.path(TRAINER).read_bytes().replace(b"\n", b"\r\n"))


def _emptied(content: bytes) -> Callable[[InstalledSite], None]:
    return _write(MODEL_FILE, content)


def _folder_for_file(site: InstalledSite) -> None:
    site.path("verl/config/trainer.yaml").unlink()
    site.path("verl/config/trainer.yaml").mkdir()


def _pipe_for_file(site: InstalledSite) -> None:
    site.path(TRAINER).unlink()
    os.mkfifo(site.path(TRAINER))


def _circle(site: InstalledSite) -> None:
    site.path("verl/circle").symlink_to("circle")


def _dangling(site: InstalledSite) -> None:
    site.path(TRAINER).unlink()
    site.path(TRAINER).symlink_to("nowhere.py")


def _compiled_from(site: InstalledSite, source: bytes, *, flags: int = 0, optimization: str = "") -> Path:
    """Write a pyc of other source beside a module, dated and sized like the installed one."""
    path = site.path(MODEL_FILE)
    status = path.stat()
    date = int(status.st_mtime).to_bytes(4, "little") + status.st_size.to_bytes(4, "little")
    check = importlib.util.source_hash(source) if flags else date
    code = compile(source, str(path), "exec", optimize=int(optimization or 0))
    compiled = Path(importlib.util.cache_from_source(str(path), optimization=optimization))
    compiled.parent.mkdir(exist_ok=True)
    compiled.write_bytes(importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + check + marshal.dumps(code))
    return compiled


def _stale_by_date(site: InstalledSite) -> None:
    _compiled_from(site, MODEL)


def _stale_optimized(site: InstalledSite) -> None:
    _compiled_from(site, MODEL, optimization="1")


def _stale_unchecked(site: InstalledSite) -> None:
    _compiled_from(site, MODEL, flags=1)


def _forged_unchecked(site: InstalledSite) -> None:
    """Mark other code with the hash of the installed source."""
    compiled = _compiled_from(site, MODEL, flags=1)
    genuine = importlib.util.source_hash(site.path(MODEL_FILE).read_bytes())
    content = compiled.read_bytes()
    compiled.write_bytes(content[:8] + genuine + content[16:])


def _stale_elsewhere(site: InstalledSite) -> None:
    """Leave unchecked bytecode of another version for a module the overlay does not touch."""
    source = b"def helper():\n    return 2\n"
    compiled = Path(importlib.util.cache_from_source(str(site.path("transformers/utils.py"))))
    compiled.parent.mkdir(exist_ok=True)
    code = compile(source, "utils.py", "exec")
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
    compiled.write_bytes(header + marshal.dumps(code))


def _sourceless(site: InstalledSite) -> None:
    """Remove a source and leave its bytecode where Python takes it."""
    compile_all(site, "-b")
    for compiled in site.folder.rglob("*.pyc"):
        if compiled != site.path("verl/trainer.pyc"):
            compiled.unlink()
    site.path(TRAINER).unlink()


def _install_over(name: str) -> Callable[[InstalledSite], None]:
    """Unpack another wheel over the installation, as tools that do not know of ours do."""

    def do(site: InstalledSite) -> None:
        (wheel,) = site.patched.wheels.glob(f"{name}-*.whl")
        shutil.unpack_archive(wheel, site.folder, "zip")

    return do


def _uninstall_companion(site: InstalledSite) -> None:
    shutil.rmtree(site.info("transformers"))


def _upstream_afterwards(site: InstalledSite) -> None:
    _uninstall_companion(site)
    _install_over("transformers-4.5.6")(site)


def _upstream_came_and_went(site: InstalledSite) -> None:
    _uninstall_companion(site)
    shutil.rmtree(site.path("transformers"))


def _editable_upstream(site: InstalledSite) -> None:
    _uninstall_companion(site)
    info = site.path("transformers-4.5.6.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: transformers\nVersion: 4.5.6\n")
    (info / "RECORD").write_text("__editable__.transformers-4.5.6.pth,,\n")
    (info / "direct_url.json").write_text(json.dumps({"url": "file:///src/hf", "dir_info": {"editable": True}}))


def _other_build(name: str, *, metadata: bool = True, summary: bool = True) -> Callable[[InstalledSite], None]:
    """Make an installed distribution call itself revision 2."""

    def do(site: InstalledSite) -> None:
        info = site.info(name)
        old = site.patched.version(name if name.endswith("_npu") else f"{name}_npu")
        new = old.replace("+npu.1.", "+npu.2.")
        if metadata:
            renamed = info.with_name(info.name.replace("+npu.1.", "+npu.2."))
            info.rename(renamed)
            for file in ("METADATA", "RECORD"):
                (renamed / file).write_text((renamed / file).read_text().replace(old, new))
        if summary and name.endswith("_npu"):
            data = site.path(f"{name}_summary/changes.json")
            value = json.loads(data.read_text().replace(old, new))
            value["overlay"]["revision"] = 2
            data.write_text(json.dumps(value))

    return do


def _foreign_dist(site: InstalledSite) -> None:
    site.write("shadow-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: shadow\nVersion: 1.0\n")
    site.write("shadow-1.0.dist-info/RECORD", f"{MODEL_FILE},,\nshadow-1.0.dist-info/RECORD,,\n".encode())


def _foreign_overwrite(site: InstalledSite) -> None:
    _foreign_dist(site)
    site.write(MODEL_FILE, MODEL)
    import base64  # noqa: PLC0415

    digest = base64.urlsafe_b64encode(hashlib.sha256(MODEL).digest()).rstrip(b"=").decode()
    site.write("shadow-1.0.dist-info/RECORD", f"{MODEL_FILE},sha256={digest},{len(MODEL)}\n".encode())


def _foreign_addition(site: InstalledSite) -> None:
    site.write("verl/plugin.py", b"x = 1\n")
    site.write("extra-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    site.write("extra-1.0.dist-info/RECORD", b"verl/plugin.py,,\n")


def _old_style_owner(site: InstalledSite) -> None:
    site.write("old.egg-info/PKG-INFO", b"Metadata-Version: 1.0\nName: old\nVersion: 0.1\n")
    site.write("old.egg-info/installed-files.txt", b"../verl/trainer.py\n")


def _twice(site: InstalledSite) -> None:
    info = site.info("verl_npu")
    shutil.copytree(info, info.with_name("verl_npu-0.5.0.dist-info"))


def _interrupted_uninstall(site: InstalledSite) -> None:
    info = site.info("verl_npu")
    shutil.copytree(info, info.with_name("~" + info.name[1:]))


def _entry_points_added(site: InstalledSite) -> None:
    (site.info("verl_npu") / "entry_points.txt").write_bytes(b"[x]\na = b:c\n")


def _companion_commands(*, listed: bool) -> Callable[[InstalledSite], None]:
    def do(site: InstalledSite) -> None:
        points = site.info("transformers") / "entry_points.txt"
        points.write_bytes(b"[console_scripts]\na = os:abort\n")
        if listed:
            record = points.with_name("RECORD")
            digest = base64.urlsafe_b64encode(hashlib.sha256(points.read_bytes()).digest()).rstrip(b"=").decode()
            row = f"{points.parent.name}/{points.name},sha256={digest},{points.stat().st_size}\n"
            record.write_text(record.read_text() + row)

    return do


def _companion_twice(site: InstalledSite) -> None:
    info = site.info("transformers")
    shutil.copytree(info, info.with_name("transformers-4.40.0.dist-info"))


def _companion_edited(site: InstalledSite) -> None:
    record = site.info("transformers") / "RECORD"
    record.write_text(f"{record.read_text()}transformers.py,sha256={'A' * 43},7\ngone.py,sha256={'A' * 43},7\n")
    site.write("transformers.py", b"x = 1\n")


def _orphan(site: InstalledSite) -> None:
    info = "other-1.0+npu.1.g0123456.dist-info"
    site.write(f"{info}/METADATA", b"Metadata-Version: 2.1\nName: other\nVersion: 1.0+npu.1.g0123456\n")
    site.write(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/RECORD,,\n".encode())


def _lost_files(site: InstalledSite) -> None:
    for name in ("verl", "recipe", "verl_npu_summary"):
        shutil.rmtree(site.path(name))


def _no_companion(site: InstalledSite) -> None:
    shutil.rmtree(site.info("verl"))


def _record_without_ours(site: InstalledSite) -> None:
    record = site.info("verl_npu") / "RECORD"
    lines = [line for line in record.read_text().splitlines() if not line.startswith(TRAINER)]
    record.write_text("\n".join(lines) + "\n")


def _in_info(name: str, file: str, change: Callable[[bytes], bytes] | None) -> Callable[[InstalledSite], None]:
    def do(site: InstalledSite) -> None:
        path = site.info(name) / file
        path.unlink() if change is None else path.write_bytes(change(path.read_bytes()))

    return do


def _edited_with_manifest(site: InstalledSite) -> None:
    """Edit a changed file and set the manifest to match."""
    _append(TRAINER)(site)
    file = site.path("verl_npu_summary/manifest.json")
    value = json.loads(file.read_text())
    value["files"][TRAINER] = hashlib.sha256(site.path(TRAINER).read_bytes()).hexdigest()
    file.write_text(json.dumps(value))
    record = site.info("verl_npu") / "RECORD"
    lines = [line for line in record.read_text().splitlines() if "manifest.json" not in line]
    record.write_text("\n".join([*lines, "verl_npu_summary/manifest.json,,", ""]))


def _remove_pair(site: InstalledSite) -> None:
    for name in ("transformers", "transformers_npu_summary"):
        shutil.rmtree(site.path(name))
    for info in site.folder.glob("transformers*.dist-info"):
        shutil.rmtree(info)


def _no_manifest_no_record(site: InstalledSite) -> None:
    site.path("verl_npu_summary/manifest.json").unlink()
    (site.info("verl_npu") / "RECORD").unlink()


def _incumbent(site: InstalledSite) -> None:
    site.write("verl_npu/__init__.py", b"")
    site.write("verl_npu/plugin.py", b"def patch(): ...\n")


def _incumbent_editable(site: InstalledSite) -> None:
    site.write("other/.keep", b"")
    info = site.path("verl_npu-0.0.1.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: verl_npu\nVersion: 0.0.1\n")
    (info / "direct_url.json").write_text(
        json.dumps({"url": "file:///src/MindSpeed-RL/verl_npu", "dir_info": {"editable": True}})
    )


PLUGIN_LINE = b"\n# NPU patch\nimport verl_npu\n"

DAMAGES = [
    Damage(name="changed file edited", do=_append(MODEL_FILE), kinds={"modified"}),
    Damage(name="untouched file edited", do=_append("transformers/utils.py"), kinds={"modified"}),
    Damage(name="data file edited", do=_append("verl/config/trainer.yaml"), kinds={"modified"}),
    Damage(name="edited keeping size and date", do=_same_size_and_date, kinds={"modified"}),
    Damage(name="edited and dated back", do=_older, kinds={"modified"}, says=("from another build",)),
    Damage(
        name="upstream's file put back",
        do=_write(MODEL_FILE, MODEL),
        kinds={"modified"},
        says=("this is upstream's file",),
    ),
    Damage(name="line ends converted", do=_crlf, kinds={"modified"}, says=("line ends were converted",)),
    Damage(name="file emptied", do=_emptied(b""), kinds={"modified"}, says=("disk was full",)),
    Damage(name="file of zeros", do=_emptied(b"\0" * 512), kinds={"modified"}, says=("disk was full",)),
    Damage(
        name="merge left unfinished",
        do=_append(TRAINER, b"\n<<<<<<< HEAD\n"),
        kinds={"modified"},
        says=("merge was left unfinished",),
    ),
    Damage(name="summary's own code edited", do=_append("verl_npu_summary/layout.py"), kinds={"modified"}),
    Damage(name="shipped diff edited", do=_append("verl_npu_summary/changes.diff"), kinds={"modified"}),
    Damage(name="file deleted", do=_remove(TRAINER), kinds={"missing"}, says=("deleted by hand",)),
    Damage(name="empty file deleted", do=_remove("transformers/empty.txt"), kinds={"missing"}),
    Damage(name="file of a namespace package deleted", do=_remove("recipe/dapo.py"), kinds={"missing"}),
    Damage(
        name="subpackage deleted", do=_remove("transformers/models"), kinds={"missing"}, says=("3 files not there",)
    ),
    Damage(name="module added", do=_write("verl/new.py"), kinds={"added"}, says=("put there by hand",)),
    Damage(name="data added", do=_write("verl/config/extra.yaml"), kinds={"added"}),
    Damage(name="folder added", do=_write("verl/more/deep/new.py"), kinds={"added"}, says=("verl/more/",)),
    Damage(name="file added to the summary", do=_write("verl_npu_summary/evil.py"), kinds={"added"}),
    Damage(
        name="file installed by another distribution",
        do=_foreign_addition,
        kinds={"added"},
        says=("installed by extra 1.0",),
    ),
    Damage(name="compiled extension beside a module", do=_write("verl/trainer.abi3.so"), kinds={"imported instead"}),
    Damage(name="package beside a module", do=_write("verl/trainer/__init__.py"), kinds={"imported instead"}),
    Damage(
        name="source replaced by bytecode",
        do=_sourceless,
        kinds={"missing", "imported instead"},
        says=("verl/trainer.pyc",),
    ),
    Damage(name="folder instead of a file", do=_folder_for_file, kinds={"not a file"}),
    Damage(name="pipe instead of a file", do=_pipe_for_file, kinds={"not a file"}),
    Damage(name="circle of links added", do=_circle, kinds={"added"}),
    Damage(name="dangling link instead of a file", do=_dangling, kinds={"not a file"}),
    Damage(name="stale bytecode of equal date and size", do=_stale_by_date, kinds={"stale bytecode"}),
    Damage(name="stale bytecode for python -O", do=_stale_optimized, kinds={"stale bytecode"}),
    Damage(name="stale bytecode marked unchecked", do=_stale_unchecked, kinds={"stale bytecode"}),
    Damage(name="forged unchecked bytecode", do=_forged_unchecked, kinds={"stale bytecode"}),
    Damage(name="unchecked bytecode of an untouched module", do=_stale_elsewhere, kinds={"stale bytecode"}),
    Damage(
        name="rejected hunks",
        do=_write("verl/trainer.py.rej"),
        kinds={"rejected patch"},
        says=("verl_npu plugin",),
    ),
    Damage(name="backup of a fuzzy patch", do=_write("verl/trainer.py.orig"), kinds={"rejected patch"}),
    Damage(
        name="plugin line in verl",
        do=_append("verl/__init__.py", PLUGIN_LINE),
        kinds={"incumbent import", "modified"},
        says=("verl_npu plugin has written itself",),
    ),
    Damage(name="plugin installed", do=_incumbent, kinds={"incumbent plugin"}),
    Damage(
        name="plugin installed editable",
        do=_incumbent_editable,
        kinds={"incumbent plugin", "registered twice"},
        says=("/src/MindSpeed-RL/verl_npu",),
    ),
    Damage(name="startup hook", do=_write("patch_verl.pth", b"import verl.workers; x()\n"), kinds={"startup hook"}),
    Damage(
        name="startup hook behind a BOM and a return",
        do=_write("patch_verl.pth", b"\xef\xbb\xbfimport verl.workers; x()\r\n"),
        kinds={"startup hook"},
    ),
    Damage(
        name="startup hook called as editable installs call theirs",
        do=_write("__editable__.x.pth", b"# x\rimport verl.workers; x()\n"),
        kinds={"startup hook"},
    ),
    Damage(
        name="other distribution claims our file",
        do=_foreign_dist,
        kinds={"overwritten"},
        says=("shadow 1.0 claims 1 of our files",),
        repaired_by=False,  # --target knows no uninstall; tried where it does
    ),
    Damage(
        name="other distribution wrote over our file",
        do=_foreign_overwrite,
        kinds={"overwritten", "modified"},
        says=("shadow 1.0 has written its own file over it",),
        repaired_by=False,
    ),
    Damage(
        name="old-style distribution claims our file",
        do=_old_style_owner,
        kinds={"overwritten"},
        repaired_by=False,
    ),
    Damage(
        name="companion uninstalled",
        do=_uninstall_companion,
        kinds={"companion missing"},
        says=("--no-deps",),
    ),
    Damage(
        name="upstream installed afterwards",
        do=_upstream_afterwards,
        kinds={"companion replaced", "modified"},
        says=("instead of transformers 4.5.6+npu.1", "claims", "installed afterwards", "has written its own file"),
        repaired_by=False,
    ),
    Damage(
        name="upstream installed and uninstalled afterwards",
        do=_upstream_came_and_went,
        kinds={"companion missing", "missing"},
        says=("uninstalling another distribution that owned the same files",),
    ),
    Damage(
        name="upstream installed editable",
        do=_editable_upstream,
        kinds={"companion replaced"},
        says=("an editable install of /src/hf",),
        repaired_by=False,
    ),
    Damage(
        name="companion of another build",
        do=_other_build("transformers"),
        kinds={"companion replaced"},
        says=("upgraded one without the other",),
        repaired_by=False,
    ),
    Damage(
        name="companion of a distribution that is gone",
        do=_orphan,
        kinds={"companion alone"},
        says=("0123456 holds none of its files by design, and other-npu", "was uninstalled without it"),
        repaired_by=False,
    ),
    Damage(
        name="folders of a distribution deleted, its metadata not",
        do=_lost_files,
        kinds={"companion alone"},
        says=("holds none of its files by design, and verl-npu, which does, has lost them", "they were deleted"),
    ),
    Damage(
        name="folders of a distribution and its companion's metadata deleted",
        do=_all(_lost_files, _no_companion),
        kinds={"companion alone"},
        says=("verl-npu 0.6.1+npu.1.g", "is registered, and its files are not there"),
        repaired_by=False,
    ),
    Damage(
        name="what a companion says edited",
        do=_companion_edited,
        kinds={"companion damaged"},
        says=("what is to say that transformers-npu is not there", "edited, or removed"),
        repaired_by=False,
    ),
    *(
        Damage(
            name=f"entry points of the companion, RECORD {'too' if listed else 'not'}",
            do=_companion_commands(listed=listed),
            kinds={"companion damaged"},
            says=("dist-info/entry_points.txt",),
        )
        for listed in (False, True)
    ),
    Damage(
        name="METADATA of the companion emptied",
        do=_in_info("transformers", "METADATA", lambda _: b""),
        kinds={"companion damaged"},
        says=("dist-info/METADATA", "its metadata"),
    ),
    Damage(
        name="METADATA of the companion edited",
        do=_in_info("transformers", "METADATA", lambda old: old.replace(b"Summary: ", b"Summary: x")),
        kinds={"companion damaged"},
    ),
    Damage(
        name="RECORD of the companion removed",
        do=_in_info("transformers", "RECORD", None),
        kinds={"companion damaged"},
        says=("dist-info/RECORD",),
    ),
    Damage(
        name="uninstall interrupted",
        do=_interrupted_uninstall,
        kinds={"interrupted uninstall"},
        says=("~erl_npu-", "rm -rf"),
    ),
    Damage(name="two companions", do=_companion_twice, kinds={"companion twice"}),
    Damage(
        name="paired distribution removed",
        do=_remove_pair,
        kinds={"pair missing"},
        says=("was built for transformers-npu==4.5.6 (overlay transformers@",),
    ),
    Damage(
        name="paired distribution of another build",
        do=_all(_other_build("transformers_npu"), _other_build("transformers")),
        kinds={"pair of another build", "modified", "metadata damaged", "companion damaged"},
        says=("installed is 4.5.6+npu.2", "revision 2)"),
        repaired_by=False,
    ),
    Damage(
        name="metadata folder removed",
        do=lambda site: shutil.rmtree(site.info("verl_npu")),
        kinds={"unregistered"},
        says=("only the folders were copied",),
    ),
    Damage(name="two metadata folders", do=_twice, kinds={"registered twice"}),
    Damage(
        name="metadata of another build",
        do=_other_build("verl_npu", summary=False),
        kinds={"registered as another build"},
        repaired_by=False,
    ),
    Damage(name="RECORD removed", do=_in_info("verl_npu", "RECORD", None), kinds={"metadata damaged"}),
    Damage(name="RECORD incomplete", do=_record_without_ours, kinds={"metadata damaged"}, says=(TRAINER,)),
    Damage(
        name="METADATA edited",
        do=_in_info("verl_npu", "METADATA", lambda old: old.replace(b"Requires-Dist: transformers-npu", b"X-Was: t")),
        kinds={"metadata damaged"},
    ),
    Damage(
        name="bill edited",
        do=_in_info("verl_npu", "sboms/verl-npu.cdx.json", lambda old: old.replace(b"1.6", b"1.5")),
        kinds={"metadata damaged"},
    ),
    Damage(
        name="entry points added",
        do=_entry_points_added,
        kinds={"metadata damaged"},
        says=("entry_points.txt",),
    ),
    Damage(name="METADATA removed", do=_in_info("verl_npu", "METADATA", None), kinds={"metadata damaged"}),
    Damage(name="manifest removed", do=_remove("verl_npu_summary/manifest.json"), kinds={"manifest damaged"}),
    Damage(
        name="manifest cut short",
        do=_write("verl_npu_summary/manifest.json", b'{"schema": 1, "fil'),
        kinds={"manifest damaged"},
    ),
    Damage(
        name="manifest edited to hide a change",
        do=_edited_with_manifest,
        kinds={"manifest damaged"},
        says=("disagree about 1 file", TRAINER),
    ),
    Damage(
        name="manifest edited, RECORD not",
        do=_append("verl_npu_summary/manifest.json", b" "),
        kinds={"manifest damaged"},
        says=("not the one RECORD lists",),
    ),
    Damage(
        name="neither manifest nor RECORD",
        do=_no_manifest_no_record,
        kinds={"manifest damaged", "metadata damaged"},
        says=("could not be compared",),
        repaired_by=True,
    ),
    Damage(
        name="summary removed",
        do=_remove("verl_npu_summary/changes.json"),
        kinds={"summary damaged", "missing"},
    ),
    Damage(
        name="summary cut short",
        do=_write("verl_npu_summary/changes.json", b"{"),
        kinds={"summary damaged", "modified"},
    ),
]
