"""What is read from source and settings, without being run."""

from __future__ import annotations

import shutil
import sysconfig
from typing import TYPE_CHECKING

import pytest

from npu_doctor.checks.requirements import bounds
from support.mindspeed import COMMITS, MindSpeedUnreachableError, real_patch_utils

if TYPE_CHECKING:
    from .machine import Machine


@pytest.mark.parametrize(
    ("content", "level"),
    [
        ('"""For example:\n\nfrom vllm.gone import LLM\n"""\n', "matched"),
        ("try:\n    from vllm.gone import LLM\nexcept ImportError:\n    pass\n", "matched"),
        ("import vllm_gone.x\nfrom vllm_gone import y\n", "matched"),
        ("import os, vllm.gone\n", "broken"),
        ("import vllm.gone as gone\n", "broken"),
        ("from vllm.lora import (\n    models,\n)\nfrom vllm.gone import (\n    a,\n)\n", "broken"),
        ("from vllm.gone import x\nthis is no Python\n", "matched"),
    ],
)
def test_only_code_that_runs_on_import_says_what_is_needed(machine: Machine, content: str, level: str) -> None:
    machine.module("verl/utils/vllm/other.py", content)
    rows = [row for row in machine.rows(7) if row.component == "vllm for verl"]
    assert [row.level for row in rows] == [level], rows
    assert level == "matched" or "vllm.gone (utils/vllm/other.py:" in rows[0].found


_THERE, _GONE = (f"from transformers.integrations.npu_flash_attention import {name}" for name in ("there", "gone"))


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (f"{_THERE}\n", "matched"),
        (f"{_GONE}\n", "broken"),
        (
            f"class A:\n    def f(self):\n        if self:\n            pass\n        else:\n            {_GONE}\n",
            "broken",
        ),
        (f"match 1:\n    case 1:\n        {_GONE}\n", "broken"),
        ("from \\\n  transformers.integrations.npu_flash_attention import (\n    gone,\n)\n", "broken"),
        (f"{_THERE}\ntry:\n    {_GONE}\nexcept ImportError:\n    {_GONE}\n", "matched"),
        (f"{_THERE}\ntry:\n    pass\nfinally:\n    def f():\n        {_GONE}\n", "matched"),
        (f'{_THERE}\nexample = """\n{_GONE}\n"""\n', "matched"),
    ],
)
def test_names_that_code_takes_anywhere_but_under_try_have_to_be_there(
    machine: Machine, content: str, level: str
) -> None:
    machine.module("transformers/integrations/npu_flash_attention.py", "there = index_first_axis = unpad_input = 1\n")
    machine.module("verl/utils/other.py", content)
    rows = [
        row for row in machine.rows(16) if row.component == "transformers.integrations.npu_flash_attention for verl"
    ]
    assert [row.level for row in rows] == [level], rows
    assert level == "matched" or "gone (utils/other.py:" in rows[0].found


def test_where_transformers_is_missing_its_names_are_not_said_to_be_gone(machine: Machine) -> None:
    machine.module("verl/utils/other.py", f"{_GONE}\n")
    label = "transformers.integrations.npu_flash_attention for verl"
    assert [row.level for row in machine.rows(16) if row.component == label] == ["broken"]
    shutil.rmtree(machine.site / "transformers")
    assert [row.level for row in machine.rows(16) if row.component == label] == []


def test_a_comma_in_brackets_separates_no_options(machine: Machine) -> None:
    machine.env["PYTORCH_NPU_ALLOC_CONF"] = "page_size:[1g,expandable_segments:True,2g]"
    assert {row.level for row in (*machine.rows(21), *machine.rows(23))} == {"matched"}


_READ = "from importlib.metadata import version\nfrom packaging.version import Version, parse\n"
_OURS = f"{_READ}found = parse(version('transformers'))\n"
_HELPERS = """\
import importlib.metadata, operator, re
from packaging.version import parse
OPERATORS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, ">": operator.gt}
_found, _there = importlib.metadata.version("transformers"), True
def compare_versions(what, operation, wanted):
    if isinstance(what, str):
        what = parse(importlib.metadata.version(what))
    return OPERATORS[operation](what, parse(wanted))
def is_transformers_version(operation, wanted):
    return compare_versions(parse(_found), operation, wanted)
def is_in_range(min_version=None, max_version=None):
    return parse(min_version) <= parse(_found) <= parse(max_version)
def require_version(requirement):
    name, operation, wanted = re.findall(r"^([^<>=]+)([<>=]+)(.+)", requirement)[0]
    if not OPERATORS[operation](parse(importlib.metadata.version(name)), parse(wanted)):
        raise ImportError(requirement)
def require_all(text):
    if re.fullmatch(r"[a-z]+", text):
        name, asked = text, None
    else:
        found = re.findall(r"^([^<>=]+)([<>=].+)", text)
        name, ranges = found[0]
        asked = {}
        for one in ranges.split(","):
            found = re.findall(r"^([<>=]+)(.+)", one)
            operation, wanted = found[0]
            asked[operation] = wanted
    there = importlib.metadata.version(name)
    for operation, wanted in asked.items():
        if not OPERATORS[operation](parse(there), parse(wanted)):
            raise ImportError(text)
class Checked:
    def _check(self, wanted):
        assert parse(_found) <= parse(wanted)
    def start(self):
        self._check("4.56.1")  # here
"""
_RECORD = "from importlib.metadata import distribution, metadata\n"
_SPECIFIERS = "from packaging.specifiers import SpecifierSet\n"
_WITH_HELPERS = (
    "from .helpers import compare_versions, is_transformers_version, is_in_range\n"
    "from .helpers import require_version, require_all\n"
)


@pytest.mark.parametrize(
    ("content", "level"),
    [
        # Compared by itself.
        (f"{_OURS}assert found <= Version('4.56.1')  # here\n", "broken"),
        (f"{_OURS}if found > parse('4.56.1'):  # here\n    raise ImportError\n", "broken"),
        (f"{_OURS}def f():\n    return Version('4.56.1') >= found  # here\n", "compatible"),
        (f"{_OURS}NEW = found != Version('4.56.1')  # here\n", "compatible"),
        (f"{_READ}OLD = version('transformers') == '4.56.1'  # here\n", "compatible"),
        (
            f"{_OURS}OLD = found <= parse('4.56.1')  # here\ndef f(old):\n    return found <= old\nf(OLD)\n",
            "compatible",
        ),
        (f"{_READ}OLD = version('transformers').split('.dev')[0] in ('4.55.0', '4.56.1')  # here\n", "compatible"),
        (
            f"{_READ}MAX = '4.56.1'\nOLD = parse('4') < parse(version('transformers')) <= parse(MAX)  # here\n",
            "compatible",
        ),
        (
            (
                "import pkg_resources as p\nv = p.get_distribution('transformers').version\n"
                "OLD = p.parse_version(v) <= p.parse_version('4.56.1')  # here\n"
            ),
            "compatible",
        ),
        (
            f"{_OURS}try:\n    assert found <= parse('4.56.1')  # here\nexcept AssertionError:\n    OLD = False\n",
            "compatible",
        ),
        (
            (
                f"{_READ}class Gate:\n    def __init__(self):\n        self.found = version('transformers')\n"
                "    def is_old(self):\n        return self.found == '4.56.1'  # here\n"
            ),
            "compatible",
        ),
        (
            (
                f"{_OURS}class Gate:\n    @property\n    def version(self):\n        return found\n"
                "    def is_old(self):\n        return self.version <= parse('4.56.1')  # here\n"
            ),
            "compatible",
        ),
        (
            (
                f"{_READ}import functools\nclass Gate:\n    @functools.cached_property\n    def found(self):\n"
                "        return version('transformers')\n"
                "    def is_old(self):\n        assert self.found == '4.56.1'  # here\n"
            ),
            "broken",
        ),
        (
            f"{_READ}match version('transformers'):  # here\n    case '4.56.1' | '4.57':\n        NEW = True\n",
            "compatible",
        ),
        (f"{_READ}{_SPECIFIERS}assert version('transformers') in SpecifierSet('===4.56.1')  # here\n", "broken"),
        (f"{_RECORD}OLD = metadata('transformers')['Version'] == '4.56.1'  # here\n", "compatible"),
        (f"{_RECORD}OLD = metadata('transformers')['version'] == '4.56.1'  # here\n", "compatible"),
        (f"{_RECORD}OLD = metadata('transformers').get('Version') == '4.56.1'  # here\n", "compatible"),
        (f"{_RECORD}OLD = metadata('transformers').json['version'] == '4.56.1'  # here\n", "compatible"),
        (f"{_RECORD}KEY = 'Version'\nof = metadata('transformers')\nOLD = of[KEY] == '4.56.1'  # here\n", "compatible"),
        (f"{_RECORD}OLD = distribution('transformers').metadata['Version'] == '4.56.1'  # here\n", "compatible"),
        (
            (
                f"{_RECORD}MAX = {{'transformers': '4.56.1'}}\n"
                "def f(name):\n    of = distribution(name)\n    return of.version == MAX[name]  # here\n"
            ),
            "compatible",
        ),
        # By what chooses, counts, pairs or matches.
        (f"{_OURS}OLD = max(found, Version('4.56.1')) == Version('4.56.1')  # here\n", "compatible"),
        (f"{_READ}SHORT = version('transformers').count('.') == 2  # here\n", "compatible"),
        (f"{_READ}import re\nassert re.match(r'4\\.56\\.\\d+$', version('transformers'))  # here\n", "broken"),
        (
            (
                f"{_READ}for name, most in zip(['transformers'], ['4.56.1']):\n"
                "    assert parse(version(name)) <= parse(most)  # here\n"
            ),
            "broken",
        ),
        # By helpers.
        (
            (
                f"{_WITH_HELPERS}OLD = is_transformers_version('<=', '4.56.1')  # here\n"
                "def f(old):\n    return is_in_range(max_version=old)\nf(OLD)\n"
            ),
            "compatible",
        ),
        (f"{_WITH_HELPERS}OLD = compare_versions('transformers', '==', '4.56.1')  # here\n", "compatible"),
        (f"{_WITH_HELPERS}if not is_in_range(max_version='4.56.1'):  # here\n    raise ImportError\n", "broken"),
        (f"{_WITH_HELPERS}require_version('transformers==4.56.1')  # here\n", "broken"),
        (f"{_WITH_HELPERS}require_all('transformers>=4,<=4.56.1')  # here\n", "broken"),
        ("from . import helpers\nhelpers.require_version('transformers <= 4.56.1')  # here\n", "broken"),
        (
            f"{_WITH_HELPERS}from .limits import MAX_VERSION\nis_transformers_version('>', MAX_VERSION)  # here\n",
            "broken",
        ),
        (f"{_WITH_HELPERS}OLD = is_transformers_version('<=', limits().MAX_VERSION)  # here\n", "compatible"),
        (
            (
                f"{_WITH_HELPERS}ASKED = {{'peft': '>=1', 'transformers': '==4.56.1'}}\n"
                "for name, asked in ASKED.items():\n    require_version(name + asked)  # here\n"
            ),
            "broken",
        ),
        (_HELPERS, "broken"),
        # By tables, whatever project is asked for, and by what they spread.
        (
            (
                f"{_READ}MAX = {{'peft': '1', 'transformers': '4.56.1'}}\n"
                "def check(name):\n    assert parse(version(name)) <= parse(MAX[name])  # here\n"
            ),
            "broken",
        ),
        (
            f"{_WITH_HELPERS}ASKED = ('transformers', '==', '4.56.1')\nOLD = compare_versions(*ASKED)  # here\n",
            "compatible",
        ),
        # Not decided by the label: a property of another object, or one that is a method.
        (
            (
                f"{_READ}class Gate:\n    @property\n    def found(self):\n        return version('transformers')\n"
                "    def is_old(self, other):\n        assert other.found == '4.56.1'\n"
            ),
            "",
        ),
        (
            (
                f"{_READ}class Gate:\n    def found(self):\n        return version('transformers')\n"
                "    def is_old(self):\n        assert self.found == '4.56.1'\n"
            ),
            "",
        ),
        # Other bounds and operators, other packages, other sources, what pip does.
        (f"{_OURS}assert Version('4.56.1') <= found < Version('4.56.2')\nassert found <= Version('4.56.0')\n", ""),
        (f"{_READ}assert parse(version('peft')) <= Version('4.56.1')\n", ""),
        (f"{_READ}assert version('transformers') != '4.56.1+other'\n", ""),
        (f"{_WITH_HELPERS}require_version('peft<=4.56.1')\ncompare_versions('peft', '<=', '4.56.1')\n", ""),
        (f"{_WITH_HELPERS}require_all('transformers>=4,<=4.57')\nrequire_all('peft>=4,<=4.56.1')\n", ""),
        (f"{_WITH_HELPERS}is_in_range(min_version='4.56.1')\nis_transformers_version('>=', '4.56.1')\n", ""),
        (f"{_WITH_HELPERS}for one in ('transformers>=4.0', 'peft<=4.56.1'):\n    require_version(one)\n", ""),
        (
            (
                f"{_WITH_HELPERS}ASKED = {{'peft': '==4.56.1', 'transformers': '>4'}}\n"
                "for name, asked in ASKED.items():\n    require_version(name + asked)\n"
            ),
            "",
        ),
        (
            (
                f"{_READ}MAX = {{'peft': '4.56.1', 'transformers': '5'}}\n"
                "def check(name):\n    assert parse(version(name)) <= parse(MAX[name])\n"
            ),
            "",
        ),
        (f"{_RECORD}assert metadata('transformers')['Summary'] != '4.56.1'\n", ""),
        (f"{_RECORD}assert metadata('transformers').get('Description', '') != '4.56.1'\n", ""),
        (f"{_RECORD}assert metadata('transformers').get_all('Classifier') != ['4.56.1']\n", ""),
        (f"{_RECORD}of = distribution('transformers').metadata\nassert of.json['summary'] != '4.56.1'\n", ""),
        (f"{_RECORD}assert distribution('transformers').read_text('PKG') != '4.56.1'\n", ""),
        (f"{_RECORD}assert distribution('transformers').name != '4.56.1'\n", ""),
        ("import transformers\nassert transformers.__version__ == '4.56.1'\n", ""),
        (f"{_READ}from transformers import __version__ as v\nassert parse(v) <= parse('4.56.1')\n", ""),
        (f"{_OURS}assert Version(found.base_version) <= Version('4.56.1')\n", ""),
        (f"{_READ}assert version('transformers').split('+')[0] == '4.56.1'\n", ""),
        (
            f"{_READ}{_SPECIFIERS}assert SpecifierSet('<=4.56.1').contains(version('transformers'))\n",
            "",
        ),
        (f"{_READ}{_SPECIFIERS}assert version('transformers') in SpecifierSet('>=4,<=4.56.1')\n", ""),
        (f"{_READ}import re\nassert re.match(r'[0-9]+[.][0-9.]+', version('transformers'))[0] == '4.56.1'\n", ""),
        ("from transformers.utils.versions import require_version\nrequire_version('transformers<=4.56.1')\n", ""),
        (f"{_OURS}'''assert found <= '4.56.1' '''\nraise OSError('pip install transformers==4.56.1')\n", ""),
    ],
)
def test_a_bound_at_the_pin_is_named_where_the_label_of_the_wheels_decides_it(
    machine: Machine, content: str, level: str
) -> None:
    patched = _HELPERS.replace("version(name))", "version(name).partition('+npu.')[0])")
    machine.module("transformers/utils/versions.py", patched)
    files = {"gates/__init__.py": "", "gates/gate.py": content, "gates/helpers.py": _HELPERS.replace("4.56.1", "9")}
    machine.path.append(sysconfig.get_path("stdlib"))
    files["gates/limits.py"] = "MAX_VERSION = '4.56.1'\n"
    machine.install("gates", "1.0", files, requires=["transformers"])
    rows = [row for row in bounds(machine.context()) if row.component.endswith(" in gates")]

    assert [row.level for row in rows] == [level] * bool(level), rows
    for row in rows:
        line = content[: content.index("# here")].count("\n") + 1
        assert row.found == f"4.56.1+npu.1.g91393fe, compared with 4.56.1 in {machine.site}/gates/gate.py:{line}"


_APART = "from importlib.metadata import version\nfound = version('transformers')\n"


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (f"{_APART}a, b, c = found.split('.')  # here\n", "broken"),
        (f"{_APART}parts = found.strip().split('.')\n(a, b, c) = parts  # here\n", "broken"),
        (f"{_APART}parts = tuple(map(int, found.split('.')))  # here\n", "broken"),
        (f"{_APART}a, b, c = map(int, version('transformers').split('.', 2))  # here\n", "broken"),
        (f"{_APART}parts = tuple(int(one) for one in found.split('.')[:3])  # here\n", "broken"),
        (f"{_APART}patch = int(found.split('.')[-1])  # here\n", "broken"),
        (f"{_APART}number = float(found.rpartition('.')[0])  # here\n", "broken"),
        (f"{_APART}number = int(found.replace('.', ''))  # here\n", "broken"),
        (f"{_APART}try:\n    a, b, c = found.split('.')  # here\nexcept ValueError:\n    a = '4'\n", "compatible"),
        ("from .helpers import apart, version\nfound = apart(version('transformers'))  # here\n", "broken"),
        (
            "import importlib.metadata as m\na, b, c = m.distribution('transformers').version.split('.')  # here\n",
            "broken",
        ),
        (f"{_APART}found = found.strip()\na, b, c = found.split('.')  # here\n", "broken"),
        (
            "import importlib.metadata as m\na, b, c = m.metadata('transformers')['Version'].split('.')  # here\n",
            "broken",
        ),
        # The label is cut off, is not reached, or is another's.
        (f"{_APART}a, b, c = found.partition('+')[0].split('.')\n", ""),
        (f"{_APART}if '+' in found:\n    found = found.split('+')[0]\na, b, c = found.split('.')\n", ""),
        ("from importlib.metadata import metadata\na, b, c = metadata('transformers')['Summary'].split('.')\n", ""),
        (f"{_APART}a, b, *c = found.split('.')\n", ""),
        (f"{_APART}a, b = map(int, found.split('.')[:2])\n", ""),
        (f"{_APART}parts = [int(one) for one in found.split('.') if one.isdigit()]\n", ""),
        (f"{_APART}a, b, c = version('peft').split('.')\n", ""),
        (f"{_APART}from packaging.version import Version\na, b, c = map(int, Version(found).release)\n", ""),
        ("import transformers\na, b, c = transformers.__version__.split('.')\n", ""),
        (f"{_APART}name = 'transformers'\ndict()['of'] = name\n", ""),  # what is given to an object without a name
        (f"{_APART}a, b = found.split('.')\n", ""),  # wrong for upstream's, too
        (f"{_APART}number = int(found.split('.').strip())\n", ""),  # likewise: a list has no such method
    ],
)
def test_code_that_takes_a_version_apart_is_named_where_the_label_makes_it_raise(
    machine: Machine, content: str, level: str
) -> None:
    helper = (
        "from importlib.metadata import version\ndef apart(text):\n    return [int(one) for one in text.split('.')]\n"
    )
    files = {"gates/__init__.py": "", "gates/gate.py": content, "gates/helpers.py": helper}
    machine.path.append(sysconfig.get_path("stdlib"))
    machine.install("gates", "1.0", files, requires=["transformers"])
    rows = [row for row in bounds(machine.context()) if row.component.endswith(" in gates")]

    assert [row.level for row in rows] == [level] * bool(level), rows
    for row in rows:
        line = content[: content.index("# here")].count("\n") + 1
        assert row.found == f"4.56.1+npu.1.g91393fe, taken apart in {machine.site}/gates/gate.py:{line}"


@pytest.mark.parametrize(
    ("asked", "level"), [("==4.56.1", "matched"), ("<=4.56.1", "matched"), ("===4.56.1", "broken"), (">=4.56", "")]
)
def test_a_requirement_at_the_pin_is_met_unless_it_asks_for_the_very_text(
    machine: Machine, asked: str, level: str
) -> None:
    info = machine.install("gates", "1.0", requires=["numpy", f"transformers{asked}"])
    rows = [row for row in bounds(machine.context()) if row.component == "transformers for gates"]

    assert [(row.level, row.expected) for row in rows] == [(level, f"{asked} ({info}/METADATA:5)")] * bool(level)


def test_bounds_in_an_editable_install_are_named_and_beside_upstreams_transformers_none(machine: Machine) -> None:
    info = machine.install("gates", "1.0", {"__editable___gates_finder.py": ""}, requires=["transformers"])
    machine.module(f"{info.name}/top_level.txt", "gate\n")
    machine.module("gate/__init__.py", f"{_OURS}assert found <= Version('4.56.1')\n")

    def found() -> list[str]:
        return [row.found for row in bounds(machine.context()) if row.component == "version of transformers in gates"]

    assert found() == [f"4.56.1+npu.1.g91393fe, compared with 4.56.1 in {machine.site}/gate/__init__.py:4"]
    machine.install("transformers", "4.56.1")
    machine.uninstall("transformers-npu")
    assert found() == []


@pytest.mark.upstream
@pytest.mark.parametrize(
    ("release", "level"), [("mindspeed-rl-2.3", "broken"), ("2.3.0", "broken"), ("26.0.0", "matched")]
)
def test_a_trial_tells_which_release_of_mindspeed_undoes_its_patches(
    machine: Machine, release: str, level: str
) -> None:
    assert release in COMMITS
    try:
        text = real_patch_utils(release)
    except MindSpeedUnreachableError as reason:
        pytest.skip(str(reason))
    machine.install_mindspeed(text)

    assert [row.level for row in machine.rows(34)] == [level]
    assert list(machine.clones.rglob("__pycache__")) == []
