"""The machine is only looked at where nothing can raise and nothing waits for ever."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from itertools import chain
from pathlib import Path

import npu_doctor

DOCTOR = Path(npu_doctor.__file__).parent
ACCESS = {"files.py", "commands.py", "system.py"}
# They look at what runs, at their own data and at the command line, not at the machine examined.
OTHERS = {"audit", "cluster", "jsonfiles.py", "knowledge.py", "stacks.py", "__main__.py"}


def test_only_three_modules_touch_the_machine() -> None:
    for path in DOCTOR.rglob("*.py"):
        place = path.relative_to(DOCTOR)
        if place.name not in ACCESS and place.parts[0] not in OTHERS:
            assert not list(touching(ast.parse(path.read_text("utf-8")))), place


def touching(tree: ast.Module) -> list[str]:
    taken = chain.from_iterable(map(imported, ast.walk(tree)))
    called = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    modules = {"os", "shutil", "subprocess", "glob", "io", "mmap", "platform", "pathlib.Path"}
    return [name for name in (*taken, *called) if name in modules or name.startswith("os.") or name == "open"]


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def test_a_current_folder_that_is_gone_hides_nothing(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = """if True:
        import os, sys
        os.rmdir(os.getcwd())
        sys.path.insert(0, "")
        from npu_doctor.cli import main
        sys.exit(main(["--no-import", "--json"]))
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, check=False)
    assert "could not be told" not in done.stdout
    assert json.loads(done.stdout)["rows"]
