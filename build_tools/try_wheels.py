"""Try wheels: a selection of overlays in; their wheels, up to date, installed into a scratch environment and asked.

Runs `npu-overlays build` with the given selection, installs what that names
into an environment of its own and prints the summary the wheels carry.
Dependencies are left out: torch and ray are gigabytes, and the summary needs
the standard library only. Where the wheel of npu-doctor lies there too, it is
installed beside them, with the little it requires; that of npu-recipes is
named, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from npu_doctor.stacks import CPU_INDEX, constraints_name
from npu_overlays.errors import Problem
from npu_overlays.overlay.stacks import load_stacks

# Lines of the summary: enough to see what it is, few enough for what follows to be seen.
SHOWN = 24
NPU_OVERLAYS = (sys.executable, "-m", "npu_overlays")
TIMER = ("sh", str(Path(__file__).with_name("timer.sh")))


def main() -> int:
    """Build, install and print; returns the exit code of the first step that failed, else 0."""
    parser = argparse.ArgumentParser(description="Install built wheels into a scratch environment; print the summary.")
    parser.add_argument("--environment", type=Path, required=True, help="folder of the scratch environment")
    parser.add_argument("--out", default="wheels", help="folder of the wheels (default: wheels)")
    parser.add_argument("selection", nargs="*", help="what `npu-overlays build` takes: overlays, --stack NAME")
    options = parser.parse_args()
    try:
        listed = built(options.out, options.selection)
        if clash := clashing(listed):
            print(f"error: {clash}", file=sys.stderr)
            return 2
        wheels = [Path(one[kind]) for one in listed for kind in ("companion", "wheel")]
        doctor, recipes = (
            sorted(Path(options.out).glob(f"{name}-*.whl"))[-1:] for name in ("npu_doctor", "npu_recipes")
        )
        install(options.environment, wheels, doctor)
        print(flush=True)
        summarise(options.environment, wheels)
    except subprocess.CalledProcessError as error:
        return error.returncode
    print("\nThe wheels:")
    for one in listed:
        print(f"  {shown(one['wheel'])}\n  {shown(one['companion'])}", *one["notes"], sep="\n      ")
    for wheel in (*doctor, *recipes):
        print(f"  {shown(wheel)}")
    if stack := selected_stack(options.selection):
        print(f"\nInstall them with what they require:\n  {installing(stack, options.out, wheels[-1])}")
    return 0


def selected_stack(selection: list[str]) -> str:
    """Return the stack that a selection of `npu-overlays build` names, else the default; empty if it names overlays."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--stack", default="")
    parser.add_argument("--overlays", type=Path, default=Path("overlays"))
    options, overlays = parser.parse_known_args(selection)
    return options.stack or ("" if overlays else load_stacks(options.overlays).default)


def installing(stack: str, out: str, wheel: Path) -> str:
    """Return the command that installs a stack on this machine, by the wheel that requires the others."""
    index = f" --extra-index-url {CPU_INDEX}" if platform.machine().lower() in ("x86_64", "amd64") else ""
    name = wheel.name.partition("-")[0].replace("_", "-")
    return f"pip install -c {out}/{constraints_name(stack)}{index} --find-links {out} {name}"


def clashing(listed: list[dict[str, Any]]) -> str:
    """Return why the wheels of a selection cannot be tried together; empty where they can."""
    overlays = [str(one["overlay"]) for one in listed]
    projects = [name.partition("@")[0] for name in overlays]
    for project in projects:
        if projects.count(project) > 1:
            names = " and ".join(name for name in overlays if name.startswith(f"{project}@"))
            return f"{names} would both install {project}: name one of them, or one stack"
    return ""


def built(out: str, selection: list[str]) -> list[dict[str, Any]]:
    """Return what `npu-overlays build --json` says of the selection, in building order."""
    command = (*NPU_OVERLAYS, "build", "--json", "--out", out, *selection)
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode:
        # Only then: what the build has to say, the build before this has said.
        sys.stderr.write(as_text(done.stderr.decode()))
    done.check_returncode()
    listed: list[dict[str, Any]] = json.loads(done.stdout)
    return listed


def as_text(errors: str) -> str:
    """Return the errors of a command with `--json` as it prints them without; what is no JSON as it is."""
    try:
        problems = json.loads(errors)["problems"]
    except (ValueError, TypeError, KeyError):
        return errors
    return "".join(f"error: {Problem(**one)}\n" for one in problems)


def install(environment: Path, wheels: list[Path], doctor: list[Path]) -> None:
    """Make the environment anew and install the wheels, unless it holds exactly these already."""
    stamp = environment / "installed"
    digests = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in (*wheels, *doctor))
    wanted = "\n".join([sys.version, *digests])
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    run_timed(sys.executable, "-m", "venv", "--clear", "--without-pip", environment)
    pip = (sys.executable, "-m", "pip", "--python", environment, "--disable-pip-version-check", "--quiet")
    if doctor:
        # First: afterwards pip would list in red every dependency of the wheels that is left out here.
        run_timed(*pip, "install", *doctor)
    # The summary runs on every Python that builds; what upstream itself is for, the wheel says.
    run_timed(*pip, "install", "--no-deps", "--no-index", "--no-compile", "--ignore-requires-python", *wheels)
    stamp.write_text(wanted, "utf-8")


def summarise(environment: Path, wheels: list[Path]) -> None:
    """Print the beginning of the summary, and how to see all of it.

    It is had as a user would have it, from the package of the wheel built last; it lists all that are installed.
    """
    package = f"{wheels[-1].name.partition('-')[0]}_summary"
    command = [str(environment / "bin" / "python"), "-I", "-m", package]
    print("$", *(shown(part) for part in command), flush=True)
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    print("\n".join(lines[:SHOWN]))
    if lines[SHOWN:]:
        print(f"… {len(lines) - SHOWN} more lines: run that command, with --why for the reasons")


def run(*command: str | Path, before: tuple[str, ...] = ()) -> None:
    """Show a command and run it, by means of the one that stands before it."""
    print("$", *(shown(part) for part in command), flush=True)
    subprocess.run([*before, *(str(part) for part in command)], check=True)


def run_timed(*command: str | Path) -> None:
    """Show a command that prints nothing for seconds and run it; on a terminal, count them."""
    run(*command, before=TIMER)


def shown(part: str | Path) -> str:
    """Return a part of a command as a person in this folder would write it."""
    text = str(part).replace(sys.executable, "python")
    return text.removeprefix(f"{Path.cwd()}/")


if __name__ == "__main__":
    sys.exit(main())
