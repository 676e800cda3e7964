"""What one package takes from another, read from the source of both: modules, names, attributes, branches."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH113, PTH118, PTH119

from __future__ import annotations

import os
from collections.abc import Iterator

from npu_doctor import source, versions
from npu_doctor.context import Context
from npu_doctor.model import Level, Row


def submodules(context: Context) -> Iterator[Row]:
    """Yield the modules that one package imports from another and that are not there."""
    for rule in context.settings["submodules"]:
        importer, target = (context.packages.locate(rule[name]) for name in ("importer", "target"))
        if importer is None or target is None or not importer.folder:
            continue
        folders = [os.path.join(importer.folder, folder) for folder in rule["folders"]]
        asked = [
            (module, f"{os.path.relpath(path, importer.folder)}:{line}")
            for path in dict.fromkeys(path for folder in folders for path in source.files(folder))
            for module, line in source.imported_modules(path, rule["target"], context.has)
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
        if importer is None or not importer.folder:
            continue
        asked = [
            (name, f"{os.path.relpath(path, importer.folder)}:{line}")
            for path in source.files(importer.folder)
            for names, line in source.all_imports(path, rule["module"])
            for name in names
        ]
        defined = source.defined(target.file) if target else frozenset()
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
        defined = source.defined(target.file) if target else frozenset()
        if importer is None or not importer.folder or defined is None:
            continue
        users = [path for path in source.files(importer.folder) if source.mentions(path, rule["text"])]
        if not users:
            continue
        there = rule["name"] in defined
        wanted = f"{rule['module']}.{rule['name']}"
        place = os.path.relpath(users[0], importer.folder)
        found = wanted if there else f"{rule['module']} has no {rule['name']}, which {place} needs"
        label = f"{rule['module']} for {rule['importer']}"
        yield context.judge(rule["symptom"], label, "matched" if there else "broken", found, wanted, fix=rule["fix"])


def flash_attention(context: Context) -> Iterator[Row]:
    """Yield whether transformers can dispatch flash attention to the NPU."""
    located = context.packages.locate("transformers")
    if located is None or not located.folder or not (context.has("torch_npu") or context.stack):
        return
    there = os.path.isfile(os.path.join(located.folder, "integrations", "npu_flash_attention.py"))
    dispatch = [
        os.path.join(located.folder, name) for name in ("modeling_utils.py", "modeling_flash_attention_utils.py")
    ]
    silent = [os.path.basename(path) for path in dispatch if os.path.isfile(path) and not source.mentions(path, "npu")]
    old = versions.allows("<4.51", versions.public(context.version("transformers"))) is True
    found = context.version("transformers") or located.file
    if not there:
        found += ", no integrations/npu_flash_attention.py"
    elif silent:
        found += f", {', '.join(silent)} without the NPU"
    level: Level = "matched" if there and not silent and not old else "broken"
    yield context.judge(17, "flash attention on the NPU", level, found, ">=4.51 with its NPU branches")
