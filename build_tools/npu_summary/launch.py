"""Launch: names → the places that a Python started here, as a training run is, would import them from.

A check that is kept from the current folder has another path than the run. So a child process is asked, which has the
caller's folder and variables, and runs this file alone: it imports none of the names.
"""

# Without `__future__`, which the child would look for in the current folder first.
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    # Folders of a package or the file of a module, the module of the finder that names them, and why none could.
    Answer = tuple[list[str], str, str]

_MARK = b"npu-summary launch: "
_PATIENCE = 60.0  # seconds; a first start from a network file system takes several


def ask(names: "Iterable[str]") -> "Callable[[], tuple[list[str], dict[str, Answer]]]":
    """Start the child, and return what waits for its `sys.path` and its answer by name; neither raises."""
    import subprocess

    wanted = list(dict.fromkeys(names))
    try:
        command = [sys.executable or "", "-c", globals()["__loader__"].get_data(__file__).decode(), *wanted]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except (OSError, ValueError) as error:  # ValueError: a name that no command line can hold
        problem = f"no Python can be started: {error}"
        return lambda: ([], {name: ([], "", problem) for name in wanted})

    def answer() -> "tuple[list[str], dict[str, Answer]]":
        problem = f"a Python started here has not answered within {_PATIENCE:g} s"
        with process:
            try:
                out, err = process.communicate(timeout=_PATIENCE)
                path, found = _read(out)
                return path, dict(zip(wanted, found, strict=True))
            except subprocess.TimeoutExpired:
                process.kill()
            except (ValueError, EOFError, TypeError):
                last = err.decode("utf-8", "replace").strip().rpartition("\n")[2]
                problem = f"a Python started here fails: {last or f'exit code {process.returncode}'}"
        return [], {name: ([], "", problem) for name in wanted}

    return answer


def look(names: "Iterable[str]", finders: "Iterable[Any]", path: "Sequence[str] | None" = None) -> "dict[str, Answer]":
    """Return, by name, what the first of some finders answers that knows it.

    Args:
        names: top-level packages and modules.
        finders: asked in this order, each only by its `find_spec`, which imports no top-level name.
        path: the folders to look in; None for those of `sys.path`.
    """
    found: dict[str, Answer] = {}
    for name in names:
        try:
            found[name] = _look(name, finders, path)
        except Exception as error:  # a foreign finder may fail in any way; that is an answer too
            found[name] = [], "", str(error) or type(error).__name__
    return found


def _look(name: str, finders: "Iterable[Any]", path: "Sequence[str] | None") -> "Answer":
    for finder in finders:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path) if find else None
        if spec is not None:
            folders = spec.submodule_search_locations
            places = [spec.origin] if folders is None else folders
            module = getattr(finder, "__module__", "") or type(finder).__module__
            return [str(one) for one in places if one], module, ""
    return [], "", ""


def _read(out: bytes) -> "tuple[list[str], list[Answer]]":
    """Return what the child wrote, without the output of `sitecustomize`; raises as `marshal` if that is nothing."""
    told = out.rpartition(_MARK)[2].partition(b"\n")[0]
    path, found = marshal.loads(bytes.fromhex(told.decode()))  # noqa: S302  # written below
    return path, found


class _Imported:
    """A finder of what `.pth` files and `sitecustomize` imported before: an import gives that, not what lies first."""

    __module__ = ""  # it names no editable install

    submodule_search_locations: "list[str] | None"
    origin: "str | None"

    @classmethod
    def find_spec(cls, name: str, *_: object) -> "_Imported | None":
        module = sys.modules.get(name)
        if module is None:
            return None
        found = cls()
        found.origin = getattr(module, "__file__", None)
        folders = getattr(module, "__path__", None)
        found.submodule_search_locations = None if folders is None else list(folders)
        return found


if __name__ == "__main__":
    answers = look(sys.argv[1:], [_Imported, *sys.meta_path])
    said = [entry for entry in sys.path if isinstance(entry, str)], list(answers.values())
    os.write(1, b"\n" + _MARK + marshal.dumps(said).hex().encode() + b"\n")
