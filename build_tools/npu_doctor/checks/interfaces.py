"""What one package takes from another, read from the source of both: modules, names, attributes, branches."""

from __future__ import annotations

from collections.abc import Iterator

from npu_doctor import files, syntax, versions
from npu_doctor.context import Context
from npu_doctor.model import Row


def submodules(context: Context) -> Iterator[Row]:
    """Yield the modules that one package imports from another and that are not there."""
    for rule in context.settings["submodules"]:
        folder = context.folder(rule["importer"])
        if not folder or not context.has(rule["target"]):
            continue
        paths: dict[str, None] = {}
        for below in rule["folders"]:
            paths.update(dict.fromkeys(files.python_files(f"{folder}/{below}")))
        asked: list[tuple[str, str]] = []
        for path in paths:
            for module, line in syntax.imported_modules(path, rule["target"], context.has):
                asked.append((module, f"{path.removeprefix(f'{folder}/')}:{line}"))
        missing = [f"{module} ({place})" for module, place in sorted(asked) if not context.has(module)]
        found = f"{len(dict(asked))} modules, all there"
        if missing:
            pair = " with ".join(f"{name} {context.version(name)}" for name in (rule["importer"], rule["target"]))
            found = f"{pair}: not there: {'; '.join(missing[:3])}"
        label = f"{rule['target']} for {rule['importer']}"
        yield context.judge(rule["symptom"], label, not missing, found, "every imported module is there")


def _defined(context: Context, module: str) -> frozenset[str] | None:
    """Return the names a module defines, none where it is not there; None where that cannot be told."""
    located = context.packages.locate(module)
    return syntax.defined_names(located.file) if located else frozenset()


def symbols(context: Context) -> Iterator[Row]:
    """Yield whether the names that one package takes from a module of another are there."""
    for rule in context.settings["symbols"]:
        folder, defined = context.folder(rule["importer"]), _defined(context, rule["module"])
        if not folder or defined is None or not context.has(rule["module"].partition(".")[0]):
            continue
        asked: list[tuple[str, str]] = []
        for path in files.python_files(folder):
            for names, line in syntax.imported_names(path, rule["module"]):
                asked += [(name, f"{path.removeprefix(f'{folder}/')}:{line}") for name in names]
        if not asked:
            continue
        missing = sorted({f"{name} ({place})" for name, place in asked if name not in defined})
        found = f"not there: {', '.join(missing[:4])}" if missing else f"{len(dict(asked))} names, all there"
        label = f"{rule['module']} for {rule['importer']}"
        yield context.judge(rule["symptom"], label, not missing, found, "every imported name is there")


def attributes(context: Context) -> Iterator[Row]:
    """Yield whether a name is there that kernels take from triton only once they are imported."""
    for rule in context.settings["attributes"]:
        folder, defined = context.folder(rule["importer"]), _defined(context, rule["module"])
        if not folder or defined is None:
            continue
        user = next((path for path in files.python_files(folder) if files.mentions(path, rule["text"])), "")
        if not user:
            continue
        there = rule["name"] in defined
        found = wanted = f"{rule['module']}.{rule['name']}"
        if not there:
            found = f"{rule['module']} has no {rule['name']}, which {user.removeprefix(f'{folder}/')} needs"
        label = f"{rule['module']} for {rule['importer']}"
        yield context.judge(rule["symptom"], label, there, found, wanted, fix=rule["fix"])


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
    well = there and not silent and not old
    yield context.judge(17, "flash attention on the NPU", well, found, ">=4.51 with its NPU branches")
