"""Where packages come from: strays, placeholders, files with two owners, doubled and shadowed installs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npu_doctor import files
from npu_doctor.context import Context
from npu_doctor.model import Row
from npu_summary.verify.companions import suffix_of

_PYPI_TESTS = "the verl wheels of PyPI install top-level `tests` and `scripts`"


def stray(context: Context) -> Iterator[Row]:
    """Yield top-level packages with names that belong to nobody, and who installed them."""
    for name in context.settings["stray"]:
        # Most machines have no such folder; records hold a hundred thousand lines.
        beside = [one for one in context.packages.all if files.is_folder(f"{one.root}/{name}")]
        owners: list[str] = []
        for one in beside:
            if any(path.startswith(f"{name}/") for path in one.record):
                owners.append(one.name)
        owners.sort()
        if owners:
            yield Row(
                component=f"top-level {name}",
                level="compatible",
                found=f"installed by {', '.join(owners)}",
                expected="not installed",
                why=f"`import {name}` takes it instead of a project's own",
                fix="install the patched wheel, which leaves it out: pip install --force-reinstall verl-npu"
                if "verl" in owners
                else f"remove the folder from {context.packages.by_name[owners[0]].root}",
                see=(_PYPI_TESTS,) if "verl" in owners else (),
            )


def placeholders(context: Context) -> Iterator[Row]:
    """Yield distributions that only hold a name on the index."""
    for rule in context.settings["placeholders"]:
        found = context.packages.get(rule["distribution"])
        if found is None:
            continue
        name, expected, see = rule["distribution"], f"the real one, with {rule['module']}", (rule["source"],)
        row = Row(component=name, level="matched", found=found.version, expected=expected, see=see)
        if not context.has(rule["module"]):
            why = "what the index has under this name is a placeholder"
            without = f"{found.version}, without {rule['module']}"
            row = replace(row, level="broken", found=without, why=why, fix=rule["fix"])
        yield row


def owners(context: Context) -> Iterator[Row]:
    """Yield pairs of distributions that both installed the same Python files with different content."""
    claimed: dict[tuple[str, str], dict[str, str]] = {}
    for distribution in context.packages.all:
        for path, recorded in distribution.record.items():
            if path.endswith((".py", ".so")) and not path.startswith(".."):
                claimed.setdefault((distribution.root, path), {})[distribution.name] = recorded
    clashes: dict[tuple[str, ...], list[str]] = {}
    for (root, path), digests in claimed.items():
        if len(digests) > 1 and len(set(digests.values())) > 1:
            clashes.setdefault(tuple(sorted(digests)), []).append(f"{root}/{path}")
    for names, paths in sorted(clashes.items()):
        if set(names) == {"triton", "triton-ascend"}:
            continue  # has a row of its own, with the order to remove them in
        yield Row(
            component=" and ".join(names),
            level="broken",
            found=f"both installed {len(paths)} files, {paths[0]} among them",
            expected="one owner for each file",
            why="the one installed last won, and removing either takes the other's files away",
            fix=f"pip uninstall -y {' '.join(names)}, then install the one that is wanted",
            see=("https://github.com/pypa/pip/issues/4625",),
        )


def duplicates(context: Context) -> Iterator[Row]:
    """Yield distributions of a stack that are installed twice on the path, in different versions."""
    relevant = set(context.settings["distributions"].values())
    for name in sorted(relevant):
        found = {one.root: one.version for one in context.packages.all if one.name == name}
        if len(set(found.values())) > 1:
            shown = "; ".join(f"{version} in {root}" for root, version in found.items())
            yield Row(
                component=name,
                level="broken",
                found=shown,
                expected="one version",
                why="the first is imported, tools may ask the other",
                fix=f"pip uninstall -y {name} (once for each), then install it again",
            )


def untold(context: Context) -> Iterator[Row]:
    """Yield that no Python could be started here to tell what it imports."""
    if context.system.untold:
        yield Row(component="imports of a Python started here", level="unknown", found=context.system.untold)


def outside(context: Context) -> Iterator[Row]:
    """Yield packages that would be imported from a place that none of the installed distributions owns."""
    for package, distribution in context.settings["packages"].items():
        origin = context.origin(package)
        if origin is None or origin.kind != "path" or not distribution:
            continue
        installed = context.packages.get(distribution)
        if installed is None or origin.package == "megatron.core":
            continue
        folder = origin.file.rpartition("/")[0].rpartition("/")[0]
        rays = "of a Ray worker, out of the job's working_dir and py_modules"
        yield Row(
            component=package,
            level="broken",
            found=origin.file,
            expected=f"the file of {distribution} {installed.version} in {installed.root}",
            why="PYTHONPATH, the current folder or Ray's working_dir comes first: the installed package does not run",
            fix=f"take {folder} off PYTHONPATH ({rays}), or start elsewhere",
            see=("https://github.com/modelscope/ms-swift/issues/9245",),
        )


def lost(context: Context) -> Iterator[Row]:
    """Yield packages whose only file is the companion's module, which reports that when it is imported."""
    for package, distribution in context.settings["packages"].items():
        located, companion = context.packages.locate(package), context.packages.get(distribution)
        suffix = suffix_of(companion.version) if companion else ""
        if not (located and companion and suffix) or located.folder:
            continue
        if files.real(located.file) == files.real(f"{companion.root}/{package}.py"):
            patched, version = f"{distribution}-{suffix}", companion.version
            yield Row(
                component=package,
                level="broken",
                found=f"{located.file}, which only says that the package is not there",
                expected=f"the files of {patched} {version}",
                why=f"{patched} was uninstalled without its companion, or its files were deleted",
                fix=f"pip install --force-reinstall --no-deps {distribution}=={version} {patched}=={version}",
            )
