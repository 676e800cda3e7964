"""`dump` and the hooks, with torch: what is recorded of a model that runs, and the module that was broken is found."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.metadata import distribution
from itertools import product
from pathlib import Path

import pytest

from document_tables.parsers import commands_of
from environments import Torch, Unavailable, torch_environment
from npu_recipes.cli import main
from npu_recipes.commands.parser import parser
from npu_recipes.dumps.dump_file import DumpManifest, opened
from support.examples import arguments, examples

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[3]
FORWARD = Path(__file__).with_name("forward.py")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def torch() -> Torch:
    try:
        return torch_environment()
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def run(torch: Torch, tmp_path: Path) -> Run:
    """Return what runs the Python that has torch, with npu-recipes and what it needs beside it."""
    beside = tmp_path / "beside"
    beside.mkdir()
    for name in ("rich", "pygments", "markdown-it-py", "mdurl"):  # pure Python, which any version can have
        for path in {Path(str(one)).parts[0] for one in distribution(name).files or ()} - {".."}:
            shutil.copytree(distribution(name).locate_file(path), beside / path, dirs_exist_ok=True)  # type: ignore[arg-type]
    folders = [str(folder) for folder in (ROOT / "recipes", ROOT / "build_tools", beside)]

    def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), **variables}
        command = [str(torch.python), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return run


def manifest(file: Path) -> DumpManifest:
    with opened(file) as dump:
        return dump.manifest


def test_every_module_is_recorded_with_what_it_was_given_and_gave(run: Run, tmp_path: Path) -> None:
    done = run("-m", "npu_recipes", "dump", "--out", "gpu.npz", "--", FORWARD)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    said = manifest(tmp_path / "gpu.npz")
    layer = [f"layers.0.{name}" for name in ("attn.q", "attn.o", "attn", "norm")]
    again = [name.replace("0", "1", 1) for name in layer]
    assert [one.module for one in said.passages] == ["embed", *layer, "layers.0", *again, "layers.1", ""]
    assert {one.time for one in said.passages} == {0}
    by_module = {one.module: one for one in said.passages}
    assert [(one.name, one.shape) for one in by_module["layers.0.attn"].inputs] == [("x", (2, 6, 8))]
    assert [one.name for one in by_module["layers.0.attn"].outputs] == ["hidden"]
    assert [(one.name, one.dtype) for one in by_module[""].outputs] == [("0", "bfloat16"), ("1.0", "float32")]
    assert said.classes["layers.0.attn"] == ("__main__:Attention",)


def test_the_first_example_in_the_help_runs(run: Run, tmp_path: Path) -> None:
    shutil.copy(FORWARD, tmp_path)
    words = arguments(examples(commands_of(parser(["dump"]))["dump"].format_help())[0], "npu-recipes")
    done = run("-m", "npu_recipes", *words or ())
    assert done.returncode == 0, done.stderr
    assert manifest(tmp_path / "gpu.npz").passages


def test_the_function_that_was_broken_is_found_between_two_modules(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, more in (("gpu", ()), ("npu", ("--broken",))):
        done = run("-m", "npu_recipes", "dump", "--out", f"{name}.npz", "--", FORWARD, *more)
        assert done.returncode == 0, done.stderr
    files = [str(tmp_path / f"{name}.npz") for name in ("gpu", "npu")]
    assert main(["compare-dumps", files[0], files[0]]) == 0
    assert main(["compare-dumps", *files]) == 1
    text = capsys.readouterr().out
    assert "first to diverge: layers.0.attn.o (torch.nn.modules.linear:Linear)" in text
    assert "its inputs differ already: look at what layers.0.attn (__main__:Attention) computes before it" in text
    assert "no patched wheel of __main__ here" in text


def test_each_model_and_each_process_has_a_file_and_calls_are_chosen(run: Run, tmp_path: Path) -> None:
    options = ("--calls", "2", "--skip", "1", "--only", "norm", "--elements", "10")
    done = run(
        "-m",
        "npu_recipes",
        "dump",
        "--out",
        "a-{rank}.npz",
        *options,
        "--",
        FORWARD,
        "--twice",
        RANK="3",
        WORLD_SIZE="4",
    )
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in tmp_path.glob("*.npz")) == ["a-3-2.npz", "a-3.npz"]
    said = manifest(tmp_path / "a-3.npz")
    recorded = product((0, 1), ("layers.0.norm", "layers.1.norm", ""))
    assert [(one.call, one.module) for one in said.passages] == list(recorded)
    with opened(tmp_path / "a-3.npz") as dump:
        (tensor,) = said.passages[0].outputs
        assert (tensor.every, tensor.shape, len(dump.array(tensor.array))) == (11, (2, 6, 8), 9)


@pytest.mark.parametrize(("only", "said"), [("atn", True), ("attn", False), ("^$", False)])
def test_modules_that_are_wanted_and_not_there_are_told_of(run: Run, only: str, said: bool) -> None:
    done = run("-m", "npu_recipes", "dump", "--out", "a.npz", "--only", only, "--", FORWARD)
    assert done.returncode == 0, done.stderr
    assert (f"a.npz, the model by itself: no path of a module has `{only}`" in done.stderr) == said


def test_the_programs_exit_code_is_kept_and_what_ran_is_written(run: Run, tmp_path: Path) -> None:
    shutil.copy(FORWARD, tmp_path)
    done = run("-m", "npu_recipes", "dump", "--out", "a.npz", "--", "-m", "forward", "--fail")
    assert done.returncode == 7, done.stderr
    assert manifest(tmp_path / "a.npz").passages


def test_a_program_without_a_model_is_told_of_and_leaves_no_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nothing.py").write_text("print('done')", "utf-8")
    done = run("-m", "npu_recipes", "dump", "--out", "a.npz", "--", "nothing.py")
    assert (done.returncode, done.stdout) == (2, "done\n")
    assert "called no torch module that has parameters" in done.stderr.replace("\n", " ")
    assert not list(tmp_path.glob("*.npz"))


def test_processes_that_import_it_record_without_a_command(run: Run, tmp_path: Path) -> None:
    # Ray ends its workers so that nothing runs at their exit.
    code = f"""
import npu_recipes.dumps.everywhere, os, runpy
runpy.run_path({str(FORWARD)!r}, run_name="__main__")
os._exit(0)
"""
    done = run("-c", code, NPU_RECIPES_DUMP="ray-{rank}.npz", RANK="1", WORLD_SIZE="2")
    assert done.returncode == 0, done.stderr
    assert len(manifest(tmp_path / "ray-1.npz").passages) == 12


def test_a_block_of_ones_own_program(run: Run, tmp_path: Path) -> None:
    code = f"""
import os, runpy, torch
from npu_recipes.dumps.hooks import dump_forward
from npu_recipes.errors import RecipeError
torch.manual_seed(0)
model = runpy.run_path({str(FORWARD)!r})["TinyModel"]()
try:
    with dump_forward(torch.nn.Sequential(model), "own.npz", elements=0):
        torch.nn.Sequential(model)(torch.arange(6).reshape(1, 6))
except RecipeError as error:
    assert "own.npz: is not written: no forward was recorded" in str(error), error
assert os.listdir() == ["beside"], os.listdir()
with dump_forward(model, "own.npz"):
    model(torch.arange(6).reshape(1, 6))
assert not model._forward_hooks and not model.layers[0].norm._forward_pre_hooks
"""
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert len(manifest(tmp_path / "own.npz").passages) == 12


def test_wrong_columns_are_seen_in_a_few_elements(run: Run, tmp_path: Path) -> None:
    code = """
import torch
from npu_recipes.dumps.hooks import dump_forward
class Columns(torch.nn.Module):
    wrong = slice(0)
    def forward(self, x):
        x = x.tanh()
        x[..., self.wrong] = 0
        return x
torch.manual_seed(0)
model, x = Columns(), torch.randn(4, 16, 64)
for name, model.wrong in (("gpu", slice(0)), ("npu", slice(1, 16))):
    with dump_forward(model, f"{name}.npz", elements=256):
        model(x)
"""
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert main(["compare-dumps", *(str(tmp_path / f"{name}.npz") for name in ("gpu", "npu"))]) == 1


def test_a_forward_that_failed_is_said_to_have(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = """
import torch
from pathlib import Path
from npu_recipes.dumps.hooks import dump_forward
class Memory(torch.nn.Module):
    left = 1
    def forward(self, x):
        self.left -= 1
        if self.left < 0:
            raise MemoryError
        return x
torch.manual_seed(0)
memory = Memory()
model, x = torch.nn.Sequential(torch.nn.Linear(4, 4), memory), torch.ones(1, 4)
with dump_forward(model, "gpu.npz"):
    model(x)
with dump_forward(model, "npu.npz"):
    try:
        model(x)
    except MemoryError:
        memory.left = 1
    model(x)
    assert Path("npu.npz").exists(), "a process that ends at once leaves nothing behind"
"""
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert manifest(tmp_path / "npu.npz").unended == (0,)
    assert main(["compare-dumps", *(str(tmp_path / f"{name}.npz") for name in ("gpu", "npu"))]) == 2
    assert "the run: the model was not through with its forward 0" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("call", "code"), [("x=x, scale=x", 0), ("x, scale=2 * x", 2), ("x=2 * x, scale=x", 2)])
def test_a_batch_is_the_same_however_it_is_passed(run: Run, tmp_path: Path, call: str, code: int) -> None:
    program = f"""
import torch
from npu_recipes.dumps.hooks import dump_forward
class Model(torch.nn.Module):
    def forward(self, x, *more, scale=None):
        return x
model, x = Model(), torch.ones(2, 2)
with dump_forward(model, "gpu.npz"):
    model(x, 3 * x, scale=x)
with dump_forward(model, "npu.npz"):
    model({call})
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    assert [one.name for one in manifest(tmp_path / "gpu.npz").passages[0].inputs] == ["x", "1", "scale"]
    assert main(["compare-dumps", *(str(tmp_path / f"{name}.npz") for name in ("gpu", "npu"))]) == code


@pytest.mark.parametrize("inner", [True, False], ids=["a part", "the model"])
def test_what_is_wrapped_compares_with_what_is_not(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, inner: bool
) -> None:
    program = f"""
import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from npu_recipes.dumps.hooks import dump_forward
class Twice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.line = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)
    def forward(self, x):
        return self.line(self.norm(self.line(self.norm(x)) + 1))
torch.manual_seed(0)
model, x = Twice(), torch.randn(3, 8)
with dump_forward(model, "gpu.npz"):
    model(x)
if {inner}:
    model.norm = checkpoint_wrapper(model.norm)
else:
    model = checkpoint_wrapper(model)
with dump_forward(model, "npu.npz"):
    model(x)
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    gpu, npu = (tmp_path / f"{name}.npz" for name in ("gpu", "npu"))
    assert [one.key for one in manifest(npu).passages] == [one.key for one in manifest(gpu).passages]
    assert main(["compare-dumps", str(gpu), str(npu)]) == 0
    assert "all 5 passages agree" in capsys.readouterr().out


def test_a_part_that_is_called_module_hides_nothing_around_it(run: Run, tmp_path: Path) -> None:
    program = """
import os
import torch
from torch import nn
from npu_recipes.dumps.hooks import dump_forward
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = nn.Linear(8, 8)
    def forward(self, x):
        return x + self.module(x)
torch.manual_seed(0)
model, x = Residual(), torch.randn(2, 8)
with dump_forward(model, "one.npz"):
    model(x)
many = nn.parallel.DistributedDataParallel(model)
with dump_forward(many, "many.npz"):
    many(x)
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    for name in ("one", "many"):
        assert [one.module for one in manifest(tmp_path / f"{name}.npz").passages] == ["module", ""]


@pytest.mark.parametrize(
    ("gives", "dtype"),
    [
        ("Out(logits=x)", "float32"),
        ("torch.polar(torch.ones_like(x), x).conj()", "complex64"),
        ("x.to(torch.float8_e4m3fn)", "float8_e4m3fn"),
    ],
)
def test_whatever_holds_or_is_a_tensor_is_recorded_and_compared(
    run: Run, tmp_path: Path, gives: str, dtype: str
) -> None:
    program = f"""
import dataclasses
import torch
from npu_recipes.dumps.hooks import dump_forward
@dataclasses.dataclass
class Out:
    logits: torch.Tensor
class Model(torch.nn.Module):
    factor = 1
    def forward(self, x):
        x = x * self.factor
        return {gives}
model, x = Model(), torch.tensor([[1.0, 2.0], [3.0, float("nan")]])
for name, model.factor in (("gpu", 1), ("same", 1), ("npu", 2)):
    with dump_forward(model, f"{{name}}.npz"):
        model(x)
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    gpu, same, npu = (tmp_path / f"{name}.npz" for name in ("gpu", "same", "npu"))
    (passage,) = manifest(gpu).passages
    assert [(one.dtype, one.not_finite) for one in passage.outputs] == [(dtype, 1)]
    assert (main(["compare-dumps", str(gpu), str(same)]), main(["compare-dumps", str(gpu), str(npu)])) == (0, 1)


def test_a_model_that_gives_no_tensor_is_not_said_to_agree(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = """
import torch
from npu_recipes.dumps.hooks import dump_forward
class Model(torch.nn.Module):
    def forward(self, x):
        return object()
with dump_forward(model := Model(), "a.npz"):
    model(torch.ones(2))
"""
    assert run("-c", program).returncode == 0
    assert main(["compare-dumps", str(tmp_path / "a.npz"), str(tmp_path / "a.npz")]) == 2
    assert "the model: no module of it gave a tensor" in " ".join(capsys.readouterr().err.split())


def test_models_that_run_beside_each_other_are_all_recorded(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "beside.py"
    program.write_text(
        """
import threading
import torch
models = [torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)) for _ in range(4)]
ready = threading.Barrier(len(models))
def go(model):
    ready.wait()
    for _ in range(3):
        model(torch.ones(64, 64))
threads = [threading.Thread(target=go, args=(model,)) for model in models]
[one.start() for one in threads]
[one.join() for one in threads]
""",
        "utf-8",
    )
    done = run("-m", "npu_recipes", "dump", "--out", "a.npz", "--", program)
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob("*.npz"))
    assert [file.name for file in files] == ["a-2.npz", "a-3.npz", "a-4.npz", "a.npz"]
    for file in files:
        assert [one.module for one in manifest(file).passages] == ["0", "1", ""]


def test_where_too_many_forwards_are_skipped_that_is_said_and_no_file_is_left(run: Run, tmp_path: Path) -> None:
    done = run("-m", "npu_recipes", "dump", "--out", "a.npz", "--skip", "3", "--", FORWARD)
    assert done.returncode == 2, done.stderr
    assert "ran no model more than 3 times: no forward was recorded" in " ".join(done.stderr.split())
    assert [one.name for one in tmp_path.iterdir()] == ["beside"]


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (("nope.py",), 2, "error: nope.py: there is no such file"),
        (("-m", "nope"), 2, "error: nope: there is no such module"),
        (("-m", "nope.inner"), 2, "error: nope.inner: there is no such module"),
        (("-m", "needy.inner"), 1, "ModuleNotFoundError: No module named 'needed'"),
        (("wrong.py",), 1, 'wrong.py", line 1, in <module>\n    raise ValueError("mine")\nValueError: mine\n'),
        (("left.py",), 1, "left with this\n"),
    ],
)
def test_a_program_that_is_not_there_or_fails_is_told_of_as_python_would(
    run: Run, tmp_path: Path, program: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "wrong.py").write_text('raise ValueError("mine")\n', "utf-8")
    (tmp_path / "left.py").write_text('raise SystemExit("left with this")\n', "utf-8")
    (tmp_path / "needy").mkdir()
    (tmp_path / "needy" / "__init__.py").write_text("import needed\n", "utf-8")
    done = run("-m", "npu_recipes", "dump", "--out", "a.npz", "--", *program)
    assert done.returncode == code
    assert said in done.stderr
    assert "unexpected" not in done.stderr
    assert not list(tmp_path.glob("*.npz"))
