"""A run that is ended ends its training, whoever ends it and however."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# As a shell starts what it runs, or in the background where "ignored" is said.
SCRIPT = """
import signal
import sys
from dataclasses import replace
from pathlib import Path

from npu_recipes.catalogue import load, load_pins
from npu_recipes.launch.plan import Places
from npu_recipes.launch.plan import make_plan
from npu_recipes.launch.run_folder import run_plan

folder = Path(sys.argv[1])
places = Places(model="", data=folder, output=folder, metrics=folder / "metrics.jsonl")
plan = make_plan(load("smoke-sft"), pin=next(iter(load_pins().values())), places=places)
plan = replace(plan, command=(sys.executable, str(folder / "training.py")))
signal.signal(signal.SIGINT, signal.SIG_IGN if sys.argv[2:] else signal.default_int_handler)
run_plan(plan, folder / "log.txt", tell=print, earlier=[])
"""


TRAINING = """
import os
import pathlib
import time

folder = pathlib.Path(__file__).parent
try:
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(60)
except KeyboardInterrupt:
    (folder / "asked").touch()
"""


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("number", "code", "how"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM, []),
        (signal.SIGHUP, 128 + signal.SIGHUP, []),
        (signal.SIGINT, -signal.SIGINT, []),
        (signal.SIGTERM, 128 + signal.SIGTERM, ["ignored"]),
    ],
)
def test_the_training_is_asked_to_end_with_what_runs_it(
    tmp_path: Path, number: signal.Signals, code: int, how: list[str]
) -> None:
    (tmp_path / "training.py").write_text(TRAINING)
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path), *how], stderr=subprocess.DEVNULL) as running:
        file = tmp_path / "pid"
        while not (file.exists() and file.read_text()):
            assert running.poll() is None
            time.sleep(0.02)
        training = int(file.read_text())
        assert is_there(training)
        running.send_signal(number)

    assert running.returncode == code
    assert not is_there(training)
    assert (tmp_path / "asked").exists()
