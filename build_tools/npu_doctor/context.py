"""What every check is given: the machine, what is installed on it, and the knowledge to judge it by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from npu_doctor import origins, probe, versions
from npu_doctor.ascend import Ascend
from npu_doctor.commands import Started
from npu_doctor.knowledge import Knowledge
from npu_doctor.model import Level, Origin, Row
from npu_doctor.packages import Packages
from npu_doctor.probe import ImportOutcome
from npu_doctor.stacks import CPU_INDEX, Stack, constraints_name
from npu_doctor.system import System


@dataclass(frozen=True, kw_only=True)
class Context:
    """One examination."""

    system: System  # the machine
    knowledge: Knowledge  # tables, stacks and symptoms
    # The stack to hold it against; None for the one of the installed wheels, and where they have none.
    stack: Stack | None = None
    deterministic: bool = False  # whether the variables of a reproducible run are wanted
    imports: bool = True  # whether to try the real imports in a child process
    _origins: dict[str, Origin | None] = field(default_factory=dict, repr=False)

    @cached_property
    def packages(self) -> Packages:
        """What is installed."""
        return Packages(self.system.path, self.system.found)

    @cached_property
    def ascend(self) -> Ascend:
        """The Ascend software."""
        return Ascend(self.system)

    @property
    def settings(self) -> Any:  # JSON
        """The contents of ``environment.json``."""
        return self.knowledge.settings

    def start(self) -> None:
        """Start what takes seconds, so that it runs while files are read."""
        _ = self.ascend.started, self._probe, self._trial

    @cached_property
    def _modules(self) -> list[str]:
        tried = ("torch", "torch_npu", "acl") if self.imports else ()
        return [name for name in tried if self.packages.locate(name)]

    @cached_property
    def _probe(self) -> Started | None:
        return probe.start(self.system, self._modules)

    @cached_property
    def imported(self) -> dict[str, ImportOutcome]:
        """How importing torch, torch_npu and acl went, in a child process; empty when not tried."""
        return probe.outcome(self._probe, self._modules)

    @cached_property
    def _trial(self) -> Started | None:
        located = self.packages.locate("mindspeed.patch_utils")
        return probe.start_trial(self.system, located.file if located else "")

    @cached_property
    def repatching(self) -> bool | None:
        """Whether the installed MindSpeed keeps patches of methods when it renews them; None where nobody can tell."""
        return probe.trial_outcome(self._trial)

    def origin(self, package: str) -> Origin | None:
        """Return where a package is imported from."""
        if package not in self._origins:
            distribution = self.settings["packages"].get(package, package)
            hashed = package not in self.settings["not_hashed"]
            self._origins[package] = origins.find(self.packages, package, distribution, hashed=hashed)
        return self._origins[package]

    def version(self, component: str) -> str:
        """Return the version of a component as its tables call it, empty where it is not there."""
        if component == "python":
            return self.system.python
        if component in ("cann", "hdk", "firmware", "nnal"):
            return str(getattr(self.ascend, component))
        if component in self.settings["git_components"]:
            # What has no version of its own is known by its branch, else its commit.
            origin = self.origin(component)
            return (origin.branch or origin.commit) if origin else ""
        if component in self.settings["commit_components"]:
            found = self.origin(self.settings["commit_components"][component])
            return found.commit if found else ""
        return self.packages.version(self.settings["distributions"].get(component, component))

    def folder(self, package: str) -> str:
        """Return the folder of a package; empty for a plain module, and where there is none."""
        located = self.packages.locate(package)
        return located.folder if located else ""

    def has(self, package: str) -> bool:
        """Return whether a package can be found."""
        return self.packages.locate(package) is not None

    @cached_property
    def torch(self) -> str:
        """The torch release that torch_npu is made for, or the stack's, or the one installed."""
        npu = versions.public(self.version("torch_npu"))
        table = next(table for table in self.knowledge.tables if table.name == "torch_npu")
        published = [row[table.columns.index("torch")] for row in table.rows if versions.same(row[0], npu)]
        component = self.stack.component("torch") if self.stack else None
        return next(iter(published), "") or (component.version if component else versions.public(self.version("torch")))

    @property
    def x86(self) -> bool:
        """Whether the machine's processor is one for which torch's usual wheels are built with CUDA."""
        return self.system.machine.lower() in ("x86_64", "amd64")

    def pip_torch(self, version: str, name: str = "torch") -> str:
        """Return what pip takes to get torch, or `name`, as torch_npu needs it on this machine."""
        # torch_npu's x86 wheels require this very build, torchvision's operators too; the default index has CUDA's.
        if self.x86:
            return f"{name}=={versions.public(version)}+cpu --extra-index-url {CPU_INDEX}"
        return f"{name}=={versions.public(version)}"

    def pip_options(self, *, ours: bool) -> Iterator[str]:
        """Yield the options with which pip takes the versions of the stack and, where asked, finds wheels of ours."""
        if self.stack:
            yield f"-c wheels/{constraints_name(self.stack.name)}"
            if self.x86:
                yield f"--extra-index-url {CPU_INDEX}"
        if ours:
            yield "--find-links wheels"

    def judge(
        self,
        symptom: int,
        component: str,
        level: Level | bool,  # noqa: FBT001  # a check says whether all is well
        found: str,
        expected: str = "",
        **more: Any,
    ) -> Row:
        """Return a row that says what the table of symptoms says.

        Args:
            symptom: number of the symptom.
            component: what the row is about.
            level: how it stands; True for matched, False for broken.
            found: what is there.
            expected: what should be.
            more: ``fix`` or ``why`` in place of the symptom's, ``source`` beside its threads, and values for the
                places in braces of its fix.
        """
        known = self.knowledge.symptoms[symptom]
        if isinstance(level, bool):
            level = "matched" if level else "broken"
        threads = (*known.threads, *filter(None, [more.get("source")]))
        row = Row(component=component, level=level, found=found, expected=expected, see=threads, symptom=symptom)
        if level == "matched":
            return row
        given = {name: str(value) for name, value in more.items()}
        torch = self.torch or "…"
        values = defaultdict(lambda: "…", {"torch": torch, "pip_torch": self.pip_torch(torch), **given})
        fix = more.get("fix") or known.fix.format_map(values)
        why = more.get("why") or f"{known.cause} (users see: {known.message})"
        return replace(row, fix=fix, why=why)
