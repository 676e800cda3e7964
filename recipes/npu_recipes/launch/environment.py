"""Environment: the variables a run is started with, each with where it comes from."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import at_home

# What makes operators of CANN, HCCL and ATB compute the same each time (verl's and MindSpeed-RL's documentation).
DETERMINISTIC = {
    "HCCL_DETERMINISTIC": "true",
    "LCCL_DETERMINISTIC": "1",
    "CLOSE_MATMUL_K_SHIFT": "1",
    "ATB_MATMUL_SHUFFLE_K_ENABLE": "0",
    "ATB_LLM_LCOC_ENABLE": "0",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "PYTHONHASHSEED": "0",
}
# In place of a library's file, to look for it where `make install` and the systems' packages put it.
AUTO = "auto"
JEMALLOC = (
    "/usr/local/lib/libjemalloc.so.2",
    "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2",
    "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "/usr/lib64/libjemalloc.so.2",
)
# By which the allocator of training is switched off while an engine generates, and on again.
SWITCH = "EXPANDABLE_SEGMENTS"
_PRELOADED = "LD_PRELOAD"
# What else decides how a run computes, allocates, communicates and generates, if its user has set it. What fits is
# printed, so no pattern may fit a secret, such as VLLM_API_KEY.
_DECIDING = (
    *DETERMINISTIC,
    SWITCH,
    _PRELOADED,
    "HCCL_*",
    "LCCL_*",
    "PYTORCH_NPU_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "TASK_QUEUE_ENABLE",
    "CPU_AFFINITY_CONF",
    "DISABLE_L2_CACHE",
    "OMP_NUM_THREADS",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "ASCEND_LAUNCH_BLOCKING",
    "*_VISIBLE_DEVICES",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "VERL_*",
    "NPU_RECIPES_*",
    "VLLM_ASCEND_*",
    "VLLM_ENABLE_*",
    "VLLM_USE_*",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_ALL2ALL_BACKEND",
    "RAY_ADDRESS",
)


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A variable of a run."""

    name: str  # of the variable
    value: str  # what it is set to
    why: str  # who asked for it


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the command line asks of a run's environment."""

    jemalloc: str = ""  # a file to load before all others, `AUTO` to look for one, or empty
    expandable: bool = False  # whether the memory of training is virtual and switched (`SWITCH`)
    # A seed, with which everything is computed the same each time; None leaves it as it is.
    deterministic: int | None = None


def variables(recipe: Mapping[str, str], wishes: Wishes, environ: Mapping[str, str]) -> list[Variable]:
    """Return what a run adds to the environment; what the user has set, stays.

    Args:
        recipe: what the recipe itself sets.
        wishes: what the command line asks for; it wins over the environment.
        environ: the environment of the command.

    Raises:
        RecipeError: there is no jemalloc, or none that can be preloaded.
    """
    found = [Variable(name=name, value=value, why="recipe") for name, value in recipe.items() if name not in environ]
    if wishes.expandable:
        found.append(Variable(name=SWITCH, value="True", why="--expandable-segments"))
    if wishes.deterministic is not None:
        found += [Variable(name=name, value=value, why="--deterministic") for name, value in DETERMINISTIC.items()]
    if wishes.jemalloc:
        library = _jemalloc(wishes.jemalloc)
        loaded = [one for one in environ.get(_PRELOADED, "").split(":") if one and one != library]
        # First: what is loaded before it would allocate by another.
        why = "--jemalloc, and behind it your environment" if loaded else "--jemalloc"
        found.append(Variable(name=_PRELOADED, value=":".join((library, *loaded)), why=why))
    return found


def inherited(recipe: Iterable[str], stated: Iterable[Variable], environ: Mapping[str, str]) -> list[Variable]:
    """Return what decides about a run and its user has set already, in the order of the names.

    Args:
        recipe: the names that the recipe itself would set.
        stated: what the run adds, which wins.
        environ: the environment of the command.
    """
    added = {one.name for one in stated}
    found: set[str] = set()
    for pattern in (*recipe, *_DECIDING):
        found.update(name for name in environ if fnmatch.fnmatchcase(name, pattern))
    return [Variable(name=name, value=environ[name], why="your environment") for name in sorted(found - added)]


def _jemalloc(wish: str) -> str:
    """Return the library's whole path: every process of a run loads it, in any folder."""
    candidates = JEMALLOC if wish == AUTO else (str(at_home(wish).absolute()),)
    found = next((one for one in candidates if Path(one).is_file()), "")
    if not found:
        what = f"there is no jemalloc at {', '.join(candidates)}"
        how = "install it (Ubuntu: apt install libjemalloc2; openEuler: dnf install jemalloc)"
        raise RecipeError(Problem(where="--jemalloc", what=what, fix=f"{how}, or name it: --jemalloc=FILE"))
    if " " in found or ":" in found:
        what = f"{found} cannot be preloaded: in LD_PRELOAD blanks and colons end a name"
        raise RecipeError(Problem(where="--jemalloc", what=what, fix="name a link to it whose path has neither: ln -s"))
    return found
