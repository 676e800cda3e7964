"""MindSpeed's patches after `repatch`: all that the arguments ask for are in force, and no others.

MindSpeed's manager is a stand-in, and the real one where its repository is reachable; features and what they patch are
made up.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from support.mindspeed import COMMITS, MindSpeedUnreachableError, patch_utils, real_patch_utils

from .layer import load

pytestmark = pytest.mark.slow

mindspeed = load("utils.npu.mindspeed")

MENDED = {"mended stand-in", "26.0.0"}

MEGATRON = """
class Optimizer:
    def step(self): return "upstream"
    def scale(self): return "upstream"
    def norm(self): return "upstream"
    def count(self): return "upstream"
    @staticmethod
    def predict(): return "upstream"
class Chained(Optimizer):
    pass
def swiglu(): return "upstream"
"""
# As in MindSpeed, some replacements have the name of what they replace, and some have not.
IMPLEMENTATION = """
def step(self): return "npu"
def scale_npu(self): return "npu"
def count(self): return "npu"
def predict(): return "npu"
def norm_wrapper(function):
    def norm(self): return "npu, " + function(self)
    return norm
def swiglu(): return "npu"
"""
TARGETS = {
    "megatron_stub.Optimizer.step": "step",
    "megatron_stub.Optimizer.scale": "scale_npu",
    "megatron_stub.Optimizer.norm": "norm_wrapper",
    "megatron_stub.Optimizer.predict": "predict",
    "megatron_stub.Chained.count": "count",
    "megatron_stub.swiglu": "swiglu",
}
NPU = {"step": "npu", "scale": "npu", "norm": "npu, upstream", "count": "npu", "predict": "npu", "swiglu": "npu"}
UPSTREAM = dict.fromkeys(NPU, "upstream")


@dataclass(frozen=True, kw_only=True)
class MindSpeed:
    """MindSpeed as verl meets it: imported, with its patches in force.

    Args:
        manager: keeps the patches.
        megatron: what is patched.
        implementation: the module of MindSpeed's that has the replacements.
    """

    manager: Any
    megatron: ModuleType
    implementation: ModuleType

    def repatch(self, arguments: Mapping[str, Any]) -> None:
        """Do what MindSpeed's function of that name does; a target that is False in the arguments is switched off."""
        self.manager.remove_patches()
        # Some features register before Megatron is imported, which applies everything known once more.
        self.manager.apply_patches()
        self.apply({target for target in TARGETS if arguments.get(target, True)})

    def apply(self, targets: set[str]) -> None:
        """Register patches, each function being imported anew, and put them in force."""
        for target in TARGETS:
            if target in targets:
                self.manager.register_patch(target, vars(self.implementation)[TARGETS[target]])
        self.manager.apply_patches()

    def answers(self) -> dict[str, str]:
        """Return what Megatron's functions do now."""
        optimizer = self.megatron.Chained()
        methods = {name: getattr(optimizer, name)() for name in ("step", "scale", "norm", "count")}
        return {**methods, "predict": self.megatron.Optimizer.predict(), "swiglu": self.megatron.swiglu()}


def mindspeed_of(text: str, monkeypatch: pytest.MonkeyPatch) -> MindSpeed:
    """Return a MindSpeed with this manager; it is gone after the test."""
    modules = {
        "mindspeed": "",
        "mindspeed.patch_utils": text,
        "mindspeed.implementation": IMPLEMENTATION,
        "megatron_stub": MEGATRON,
    }
    for name, content in modules.items():
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(content, vars(module))  # noqa: S102  # the made-up modules, and MindSpeed's own
    made = MindSpeed(
        manager=vars(sys.modules["mindspeed.patch_utils"])["MindSpeedPatchesManager"],
        megatron=sys.modules["megatron_stub"],
        implementation=sys.modules["mindspeed.implementation"],
    )
    made.apply(set(TARGETS))
    assert made.answers() == NPU
    return made


@pytest.fixture(
    params=["stand-in", "mended stand-in", *(pytest.param(name, marks=pytest.mark.upstream) for name in COMMITS)]
)
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> MindSpeed:
    """Return a MindSpeed whose patches are in force."""
    name: str = request.param
    try:
        text = real_patch_utils(name) if name in COMMITS else patch_utils(mended=name in MENDED)
    except MindSpeedUnreachableError as reason:
        pytest.skip(str(reason))
    return mindspeed_of(text, monkeypatch)


@pytest.fixture
def defective(monkeypatch: pytest.MonkeyPatch) -> MindSpeed:
    """Return a MindSpeed that takes no patch off a class."""
    return mindspeed_of(patch_utils(mended=False), monkeypatch)


def test_without_us_a_method_becomes_upstreams_where_its_patch_has_its_name(
    installed: MindSpeed, request: pytest.FixtureRequest
) -> None:
    installed.repatch({})

    mended = request.node.callspec.params["installed"] in MENDED
    undone = {} if mended else dict.fromkeys(("step", "count", "predict"), "upstream")
    assert installed.answers() == {**NPU, **undone}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_no_patch_is_undone(installed: MindSpeed, times: int) -> None:
    before = dict(vars(installed.implementation))

    for _ in range(times):
        mindspeed.renew_patches(installed.repatch, {})

    assert installed.answers() == NPU
    assert installed.megatron.Optimizer().count() == "upstream"
    assert vars(installed.implementation) == before


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_arguments_switch_off_is_upstreams_again_and_can_be_switched_on(
    installed: MindSpeed, target: str
) -> None:
    for _ in range(2):
        mindspeed.renew_patches(installed.repatch, {target: False})
        assert installed.answers() == {**NPU, target.rpartition(".")[2]: "upstream"}
        mindspeed.renew_patches(installed.repatch, {})
        assert installed.answers() == NPU


def test_everything_can_be_switched_off(installed: MindSpeed) -> None:
    mindspeed.renew_patches(installed.repatch, dict.fromkeys(TARGETS, False))

    assert installed.answers() == UPSTREAM


def test_what_others_put_in_a_methods_place_stays_theirs_in_their_own_module(installed: MindSpeed) -> None:
    def step(_self: Any) -> str:
        return "theirs"

    other = ModuleType("other")
    vars(other)["step"] = vars(installed.megatron)["Optimizer"].step = step
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "other", other)
        mindspeed.renew_patches(installed.repatch, {})

    assert vars(other)["step"] is step
    assert installed.answers() == NPU


def test_a_patch_that_was_registered_and_never_applied_is_let_be(installed: MindSpeed) -> None:
    installed.manager.register_patch("megatron_stub.Chained.step", installed.implementation.scale_npu)

    mindspeed.renew_patches(installed.repatch, {"megatron_stub.Optimizer.step": False})

    assert installed.megatron.Optimizer().step() == "upstream"


class _Other:
    """A manager that keeps its patches otherwise."""

    patches_info: ClassVar[dict[str, object]] = {"a.C.b": object()}


class _Whole:
    """A manager with a patch that makes up a module that is missing."""

    made_up = SimpleNamespace(orig_module=ModuleType("apex"), orig_func_name=None, orig_func=None)
    patches_info: ClassVar[dict[str, object]] = {"apex": made_up}


@pytest.mark.parametrize("content", [{}, *({"MindSpeedPatchesManager": one} for one in (object(), _Other, _Whole))])
@pytest.mark.parametrize("there", [True, False])
def test_another_mindspeed_is_given_its_arguments_all_the_same(
    monkeypatch: pytest.MonkeyPatch, content: dict[str, Any], there: bool
) -> None:
    monkeypatch.delitem(sys.modules, "mindspeed.patch_utils", raising=False)
    if there:
        module = ModuleType("mindspeed.patch_utils")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, "mindspeed.patch_utils", module)
    given: list[Any] = []
    arguments = {"use_flash_attn": True}

    mindspeed.renew_patches(given.append, arguments)

    assert given == [arguments]
    assert given[0] is arguments


def test_what_repatch_refuses_is_not_hidden(defective: MindSpeed) -> None:
    def repatch(_arguments: Mapping[str, Any]) -> None:
        defective.manager.register_patch("megatron_stub.swiglu", defective.implementation.swiglu)

    with pytest.raises(RuntimeError, match="has a patch"):
        mindspeed.renew_patches(repatch, {})
