"""Cases: an overlay or a port of it → how our own cases of verl end over its wheel, in a stack's environment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from environments import Installations, Unavailable, torch_environment, unpack_upstream
from environments.installer import place
from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.progress import step
from npu_overlays.sources.pin import clone_variable
from sampled.between import Between
from sampled.judging import Endings, Ours, judge
from sampled.porting import UPSTREAM, Ported
from sampled.reasons import REASONS
from sampled.sampling import Range, Sample
from verl_cases import THOROUGH, Installation, run_cases, write_reference
from verl_stacks import STACKS, Stack

_MADE: dict[Path, Endings] = {}
_REQUIREMENTS = ("pytest-timeout",)
# Some commits import it where no image is read; it needs torchvision, of which there is none for this torch.
_STAND_IN = ("qwen_vl_utils.py", "fetch_image = fetch_video = process_vision_info = None\n")
_OPTIONS = ("--continue-on-collection-errors", "--timeout=300")
# Those on two ranks take as long as most others together, and what they reach of the overlay, one rank reaches.
_ALONE = ("-k", "not sharded_actor")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where our cases are run.

    Args:
        folder: for what is installed.
        overlays: the folder of overlays.
        clones: where histories are, as `sampling.samples` chooses them.
        ranks: whether the actor's cases on two ranks are run as well.
    """

    folder: Path
    overlays: Path
    clones: Mapping[str, Path]
    ranks: bool

    def tried(self, sample: Sample, ported: Ported, folder: Path) -> Ours:
        """Return what the cases for the overlay that was ported say of the port.

        Args:
            sample: the commit.
            ported: the verdicts on the overlay there.
            folder: what `porting.port` wrote.

        Raises:
            Unavailable: what is needed cannot be had here.
        """
        one = sample.range
        pin = find_overlay(self.overlays, one.overlay).pin
        past = UpstreamHistory(repository=Path(self.clones[clone_variable(pin.project)]))
        between = Between(past=past, pin=pin, commit=sample.commit.id, trees=folder)
        before = self._of_origin(one)
        after = self._endings(one, folder / "overlays" / ported.name, folder / UPSTREAM, folder / "ours")
        return judge(before, after, REASONS, ported, between.holds)

    def _of_origin(self, one: Range) -> Endings:
        """Return how they end over the overlay that is ported, in the same environment; made once."""
        folder = self.folder / f"{one.overlay}-with-{one.stack}"
        if folder not in _MADE:
            unpack_upstream(one.overlay, folder / UPSTREAM)
            _MADE[folder] = self._endings(one, self.overlays / one.overlay, folder / UPSTREAM, folder)
        return _MADE[folder]

    def _endings(self, wanted: Range, overlay: Path, upstream: Path, folder: Path) -> Endings:
        patched, reference = self._installed(stack_of(wanted.stack), overlay, upstream, folder)
        write_reference(reference, folder / "actor.pt")
        options = (*_OPTIONS, *(() if self.ranks else _ALONE))
        found: dict[str, str] = {}
        for process in (one for one in stack_of(wanted.overlay).processes if one not in THOROUGH):
            step(f"running our cases of {overlay.name}: {process}")
            report = folder / f"{process}.xml"
            done = run_cases(process, patched, reference, folder / "actor.pt", report, *options)
            (folder / f"{process}.log").write_text(done.stdout + done.stderr, "utf-8")
            found |= {f"{process}: {case}": ending for case, ending in read_endings(report).items()}
        return found

    def _installed(
        self, stack: Stack, overlay: Path, upstream: Path, folder: Path
    ) -> tuple[Installation, Installation]:
        """Build an overlay; return its packages with what the stack holds beside verl, and the same of upstream's."""
        installations, environment = Installations(self.folder), stack.environment()
        wheels = (*_built(overlay, folder / "wheels"), *installations.wheels(stack.transformers))
        place(environment.python, (*wheels, installations.doctor()), folder / "installed")
        (folder / "installed" / _STAND_IN[0]).write_text(_STAND_IN[1], "utf-8")
        extra = installations.packages(torch_environment(), "of-our-cases", _REQUIREMENTS)
        folders = [folder / "installed"], [upstream, stack.upstream(installations, environment)]
        patched, reference = (
            Installation(python=environment.python, packages=[*one, extra], torch_npu=stack.torch_npu)
            for one in folders
        )
        return patched, reference


def stack_of(name: str) -> Stack:
    """Return the stack with a verl; raises `Unavailable` where there is none."""
    stack = next((one for one in STACKS if one.verl == name), None)
    if stack is None:
        raise Unavailable(
            f"there is no environment for {name or 'this range'}: --python with what upstream's tests need"
        )
    return stack


def _built(overlay: Path, folder: Path) -> list[Path]:
    command = (sys.executable, "-m", "npu_overlays", "build", str(overlay), "--out", str(folder))
    subprocess.run(command, capture_output=True, text=True, check=True)
    return sorted(folder.glob("*.whl"))


def read_endings(report: Path) -> Endings:
    """Return how each case of a JUnit report ends: "passed", or "skipped" or "failed" and why, in one line."""
    if not report.is_file():
        return {"all": "failed: Python ended without a report"}
    return {
        f"{case.get('classname')}.{case.get('name')}".removeprefix("."): _ending(case)
        for case in ElementTree.parse(report).iter("testcase")  # noqa: S314  # pytest has just written it
    }


def _ending(case: ElementTree.Element) -> str:
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            said = child.get("message") or ""
            # Of a whole file, which says why at its end.
            said = (child.text or "").rstrip().rpartition("\n")[2] if said.startswith("collection ") else said
            said = " ".join(said.removeprefix("E ").split())
            return f"{'skipped' if child.tag == 'skipped' else 'failed'}: {said[:300]}"
    return "passed"
