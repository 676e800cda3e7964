"""What one package takes from another, read from the source of both: modules, names, attributes, branches."""

from __future__ import annotations

from collections.abc import Iterator

from npu_doctor import files, syntax, versions
from npu_doctor.context import Context
from npu_doctor.model import Level, Row
from npu_doctor.packages import Located


def _below(path: str, package: Located) -> str:
    """Return a file's path from the package's folder."""
    return path.removeprefix(f"{package.folder}/")


def submodules(context: Context) -> Iterator[Row]:
    """Yield the modules that one package imports from another and that are not there."""
    for rule in context.settings["submodules"]:
        importer, target = (context.packages.locate(rule[name]) for name in ("importer", "target"))
        if importer is None or target is None or not importer.folder:
            continue
        folders = [f"{importer.folder}/{folder}" for folder in rule["folders"]]
        asked = [
            (module, f"{_below(path, importer)}:{line}")
            for path in dict.fromkeys(path for folder in folders for path in files.python_files(folder))
            for module, line in syntax.imported_modules(path, rule["target"], context.has)
        ]
        missing = [f"{module} ({place})" for module, place in sorted(asked) if not context.has(module)]
        pair = " with ".join(f"{name} {context.version(name)}" for name in (rule["importer"], rule["target"]))
        found = (
            f"{pair}: not there: {'; '.join(missing[:3])}"
            if missing
            else f"{len({module for module, _ in asked})} modules, all there"
        )
        level: Level = "broken" if missing else "matched"
        label = f"{rule['target']} for {rule['importer']}"
        yield context.judge(rule["symptom"], label, level, found, "every imported module is there")


def symbols(context: Context) -> Iterator[Row]:
    """Yield whether the names that one package takes from a module of another are there."""
    for rule in context.settings["symbols"]:
        importer, target = context.packages.locate(rule["importer"]), context.packages.locate(rule["module"])
        if importer is None or not importer.folder or not context.has(rule["module"].partition(".")[0]):
            continue
        asked = [
            (name, f"{_below(path, importer)}:{line}")
            for path in files.python_files(importer.folder)
            for names, line in syntax.imported_names(path, rule["module"])
            for name in names
        ]
        defined = syntax.defined_names(target.file) if target else frozenset()
        if not asked or defined is None:
            continue
        missing = sorted({f"{name} ({place})" for name, place in asked if name not in defined})
        label = f"{rule['module']} for {rule['importer']}"
        found = (
            f"not there: {', '.join(missing[:4])}"
            if missing
            else f"{len({name for name, _ in asked})} names, all there"
        )
        level: Level = "broken" if missing else "matched"
        yield context.judge(rule["symptom"], label, level, found, "every imported name is there")


def attributes(context: Context) -> Iterator[Row]:
    """Yield whether a name is there that kernels take from triton only once they are imported."""
    for rule in context.settings["attributes"]:
        importer, target = context.packages.locate(rule["importer"]), context.packages.locate(rule["module"])
        defined = syntax.defined_names(target.file) if target else frozenset()
        if importer is None or not importer.folder or defined is None:
            continue
        users = [path for path in files.python_files(importer.folder) if files.mentions(path, rule["text"])]
        if not users:
            continue
        there = rule["name"] in defined
        wanted = f"{rule['module']}.{rule['name']}"
        place = _below(users[0], importer)
        found = wanted if there else f"{rule['module']} has no {rule['name']}, which {place} needs"
        label = f"{rule['module']} for {rule['importer']}"
        yield context.judge(rule["symptom"], label, "matched" if there else "broken", found, wanted, fix=rule["fix"])


def flash_attention(context: Context) -> Iterator[Row]:
    """Yield whether transformers can dispatch flash attention to the NPU."""
    located = context.packages.locate("transformers")
    if located is None or not located.folder or not (context.has("torch_npu") or context.stack):
        return
    there = files.is_file(f"{located.folder}/integrations/npu_flash_attention.py")
    dispatch = [f"{located.folder}/{name}" for name in ("modeling_utils.py", "modeling_flash_attention_utils.py")]
    silent = [path.rpartition("/")[2] for path in dispatch if files.is_file(path) and not files.mentions(path, "npu")]
    old = versions.allows("<4.51", versions.public(context.version("transformers"))) is True
    found = context.version("transformers") or located.file
    if not there:
        found += ", no integrations/npu_flash_attention.py"
    elif silent:
        found += f", {', '.join(silent)} without the NPU"
    level: Level = "matched" if there and not silent and not old else "broken"
    yield context.judge(17, "flash attention on the NPU", level, found, ">=4.51 with its NPU branches")
