"""What an overlay touches or brings in that fails nowhere when it is wrong: told, until its author accepts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from language.overlays import apply, apply_files, layer, load, mistakes, write
from language.pairs import text
from npu_overlays.checks.risk_lint.risk_signs import kinds_of_name
from npu_overlays.checks.risk_lint.risks import OverlayRisks, overlay_risks, risk_problems
from npu_overlays.errors import OverlayError

PATH = "pkg/train.py"
UPSTREAM = """
    import random
    import torch
    from torch.utils.checkpoint import checkpoint
    def step(batch, lr=1):
        out = batch.forward(seed=lr)
        if lr > 1:
            out.loss /= lr
        elif lr:
            out = out * 2
        return out
    def compute_reward(text):
        return len(text)
    def plain(x):
        try:
            return x.y
        except AttributeError:
            return x
    def say(x):
        print("upstream's", x)
        return random.random()
"""


def _looked(tmp_path: Path, overlay: str, more: Mapping[str, str | bytes] = {}, config: str = "") -> OverlayRisks:
    files = {"tree/pkg/train.py": overlay, **more} if overlay else more
    upstream = {PATH: text(UPSTREAM).encode(), "pkg/conf.yaml": b"algo:\n  kl_ctrl:\n    coef: 0.1\n  device: cuda\n"}
    applied = apply_files(tmp_path, upstream, files, config=config)
    return overlay_risks(load(tmp_path / "o", "pkg@1111111"), applied)


def _found(looked: OverlayRisks) -> list[str]:
    return [f"{one.where.rpartition('/')[2]} {one.kind}: {one.shown}" for one in looked.risks]


TOUCHING = {
    "x.loss = f(x)": "loss: x.loss = f(x)",
    "return x.policy_loss * 0": "loss: x.policy_loss * 0",
    "setattr(x, 'loss_fn', None)": "loss: setattr(x, 'loss_fn', None)",
    "torch.distributed.all_reduce(loss)": "loss: torch.distributed.all_reduce(loss)",
    "x['advantages'][0] = 0": "advantage: x['advantages'][0] = 0",
    "x.advantages.mul_(2)": "advantage: x.advantages.mul_(2)",
    "return {**x, 'rewards': 1}": "reward: {'rewards': 1}",
    "x.update({'token_level_scores': 0})": "reward: {'token_level_scores': 0}",
    "del x.reward": "reward: del x.reward",
    "for x.reward in f(x): pass": "reward: x.reward",
    "torch.manual_seed(0)": "seed: torch.manual_seed(0)",
    "return f(seed=0)": "seed: seed=0",
    "x.save_checkpoint('a')": "checkpoint: x.save_checkpoint('a')",
    "return f(random.randrange(0, 2))": "random: random.randrange(0, 2)",
    "return x + torch.randn(1)": "random: torch.randn(1)",
    "x.data.normal_()": "random: x.data.normal_()",
    "print(x)": "print: print(x)",
    "breakpoint()": "debugger: breakpoint()",
    "import pdb": "debugger: pdb",
    "torch.distributed.breakpoint()": "debugger: torch.distributed.breakpoint()",
    "with contextlib.suppress(Exception): f(x)": "exception: contextlib.suppress(Exception)",
}
HARMLESS = [
    "if x.loss > 1: return f(x.loss)",
    "return f(loss=x.loss, seed=seed)",
    "loader = x.loader",
    "x.gradient_checkpointing_enable()",
    "return checkpoint(f, x)",
    "randint = x.shuffled(); f(randint)",
    "x.closs = x.seedling",
    "logging.info('reward %s', x.reward)",
    "return shuffle(x)",
    "'a loss'",
]
HANDLERS = {
    "except Exception: pass": True,
    "except: return None": True,
    "except (ValueError, RuntimeError) as e: logging.warning('%s', e)": True,
    "finally: return 1": True,
    "except Exception as e: del e": True,
    "except Exception as e: e = None": True,
    "except Exception as e: e": True,
    "except Exception as e: _ = str(e)": True,
    "except Exception as e: 'Never mind.'; ...": True,
    "except Exception as e: raise ValueError from e": False,
    "except Exception as e: x.errors.append(e)": False,
    "except Exception as e: x.error = e; del e": False,
    "except Exception: os._exit(1)": False,
    "except (ImportError, KeyError): pass": False,
    "finally: x.close()": False,
}


def _of_bodies(tmp_path: Path, bodies: Iterable[str]) -> dict[str, list[str]]:
    """Return what is found in each body of an added function, by body."""
    imports = [f"import {one}" for one in ("contextlib", "logging", "os", "random", "torch")]
    lines = [*imports, "from torch.utils.checkpoint import checkpoint", "@added(why='w')", "def shuffle(x): return x"]
    lines += ["USED = added((contextlib, logging, os, random, torch, checkpoint), why='w')"]
    listed = {f"f{number}": body for number, body in enumerate(bodies)}
    for name, body in listed.items():
        inner = "\n".join(f"    {line}" for line in body.split("\n"))
        lines += ["@added(why='w')", f"def {name}(x, f, seed, loss):\n{inner}"]
    found: dict[str, list[str]] = {body: [] for body in listed.values()}
    for one in _looked(tmp_path, "\n".join(lines) + "\n").risks:
        found[listed[one.change.target.rpartition(":")[2]]].append(f"{one.kind}: {one.shown}")
    return found


def test_what_a_statement_touches_or_brings_in(tmp_path: Path) -> None:
    assert _of_bodies(tmp_path, TOUCHING) == {body: [shown] for body, shown in TOUCHING.items()}


def test_what_is_read_compared_or_passed_on_is_not_touched(tmp_path: Path) -> None:
    assert _of_bodies(tmp_path, HARMLESS) == {body: [] for body in HARMLESS}


def test_errors_that_are_swallowed(tmp_path: Path) -> None:
    bodies = {f"try: f(x)\n{handler}": swallowed for handler, swallowed in HANDLERS.items()}
    found = _of_bodies(tmp_path, bodies)
    for body, those in found.items():
        assert any(one.startswith("exception") for one in those) == bodies[body], body
    assert found.keys() == bodies.keys()


def test_of_an_edit_counts_what_runs_otherwise_than_before(tmp_path: Path) -> None:
    """A condition that changes changes what stands below it; what a statement keeps, is not changed."""
    looked = _looked(tmp_path, "@edited(('lr > 1', 'lr > 2'), why='w')\ndef step(): ...\n")
    assert _found(looked) == ["train.py:3 loss: out.loss /= lr"]
    looked = _looked(tmp_path / "2", "@edited(('batch.forward(', 'batch.backward('), why='w')\ndef step(): ...\n")
    assert _found(looked) == []
    looked = _looked(tmp_path / "3", "@edited(('seed=lr', 'seed=0'), why='w')\ndef step(): ...\n")
    assert _found(looked) == ["train.py:3 seed: seed=0"]


def test_taking_away_is_touching_and_never_bringing_in(tmp_path: Path) -> None:
    looked = _looked(tmp_path, "@edited(('out.loss /= lr', 'pass'), why='w')\ndef step(): ...\n")
    assert _found(looked) == ["train.py:3 loss: out.loss /= lr"]
    looked = _looked(tmp_path / "2", "deleted('say', why='w')\ndeleted('compute_reward', why='w')\n")
    assert _found(looked) == ["train.py:3 reward: def compute_reward(text)"]


def test_the_name_of_what_is_changed_counts(tmp_path: Path) -> None:
    looked = _looked(tmp_path, "@replaced(why='w')\ndef compute_reward(text):\n    return 0\n")
    assert _found(looked) == ["train.py:3 reward: compute_reward"]
    added = {"tree/pkg/reward_score/own.py": b'"""Scores."""\nX = 1\n'}
    assert _found(_looked(tmp_path / "2", "", added)) == ["own.py reward: pkg/reward_score/own.py"]


def test_added_files_substitutions_and_patches(tmp_path: Path) -> None:
    """With the keys above a line of YAML; what stands in prose and comments is not looked at."""
    patch = (
        b"Why: p\n\ndiff --git a/pkg/conf.yaml b/pkg/conf.yaml\n--- a/pkg/conf.yaml\n"
        b"+++ b/pkg/conf.yaml\n@@ -3,2 +3,3 @@\n"
        b"     coef: 0.1\n   device: cuda\n+  checkpoint: here\n"
    )
    more: dict[str, str | bytes] = {
        "tree/pkg/own.py": b'"""Own."""\nfrom random import shuffle as mix\n\n\ndef use(x):\n    mix(x)\n',
        "tree/pkg/README.md": b"On rewards and losses.\n",
        "tree/pkg/run.sh": b"# sets no seed\nexport DEVICE=npu\n",
        "patches/p.patch": patch,
    }
    edit = '[[tool.overlay.edit]]\npaths = ["pkg/conf.yaml"]\nfind = "0.1"\nreplace = "0.2"\nwhy = "e"\n'
    assert _found(_looked(tmp_path, "", more, config=edit)) == [
        "own.py:6 random: mix(x)",
        "p.patch checkpoint: algo > checkpoint: here",
        "conf.yaml) loss: algo > kl_ctrl > coef: 0.2",
    ]


def test_what_is_nested_deeper_than_pythons_stack_is_looked_at_all_the_same(tmp_path: Path) -> None:
    deep = f"SEEDS = {'+'.join(['1'] * 600)}\n".encode()
    assert _found(_looked(tmp_path, "", {"tree/pkg/own.py": deep})) == ["own.py:1 seed: line 1"]


def test_a_patch_of_python_is_compared_by_statements(tmp_path: Path) -> None:
    patch = (
        b"Why: p\nAccept: print: for a while\n\ndiff --git a/pkg/train.py b/pkg/train.py\n--- a/pkg/train.py\n"
        b"+++ b/pkg/train.py\n"
        b"@@ -11,3 +11,5 @@\n def compute_reward(text):\n-    return len(text)\n+    score = len(text)\n"
        b"+    print(score)\n"
        b"+    return score * random.random()\n def plain(x):\n"
    )
    looked = _looked(tmp_path, "", {"patches/p.patch": patch})
    assert _found(looked) == ["p.patch print: print(score)", "p.patch random: random.random()"]
    (told,) = risk_problems([looked])
    assert told.where == "pkg@1111111/patches/p.patch"
    assert "the patch draws random numbers, as `random.random()` shows" in told.what
    assert told.fix.endswith('lines `Accept: …` above its first `diff --git`: "random: why that is right"')


def test_what_a_later_patch_takes_out_again_is_no_danger(tmp_path: Path) -> None:
    names = b"diff --git a/pkg/%s b/pkg/%s\n--- a/pkg/%s\n+++ b/pkg/%s\n"
    module, config = (names.replace(b"%s", name) for name in (b"train.py", b"conf.yaml"))
    first = module + b"@@ -11,3 +11,5 @@\n def compute_reward(text):\n-    return len(text)\n+    score = len(text)\n"
    first += b"+    print(score)\n+    return score * random.random()\n def plain(x):\n"
    first += config + b"@@ -2,3 +2,3 @@\n   kl_ctrl:\n-    coef: 0.1\n+    coef: 0.2\n   device: cuda\n"
    second = module + b"@@ -11,5 +11,4 @@\n def compute_reward(text):\n     score = len(text)\n-    print(score)\n"
    second += b"     return score * random.random()\n def plain(x):\n"
    second += config + b"@@ -2,3 +2,3 @@\n   kl_ctrl:\n-    coef: 0.2\n+    coef: 0.1\n   device: cuda\n"
    found = _looked(tmp_path, "", {"patches/1.patch": b"Why: 1\n" + first, "patches/2.patch": b"Why: 2\n" + second})
    assert _found(found) == ["1.patch random: random.random()"]


def test_what_is_accepted_is_not_told_and_what_accepts_nothing_is(tmp_path: Path) -> None:
    config = """
[[tool.overlay.edit]]
paths = ["pkg/conf.yaml"]
find = "0.1"
replace = "0.2"
why = "e"
accept = ["loss: tried"]
[[tool.overlay.file]]
path = "pkg/own.py"
accept = ["seed", "random: nothing draws here"]
"""
    own = {"tree/pkg/own.py": b"SEED = 1\n"}
    overlay = """
    @wrapped(why='w', accept=("print: asked for", "loss"))
    def plain(x):
        print(x)
        return upstream(x)
    """
    looked = _looked(tmp_path, overlay, own, config)
    assert [(one.kind, one.accepted and one.accepted.reason) for one in looked.risks] == [
        ("print", "asked for"),
        ("seed", ""),
        ("loss", "tried"),
    ]
    assert [(one.where.rpartition("/")[2], one.what) for one in risk_problems([looked])] == [
        ("train.py:3", "accepts loss, and nothing in it touches a loss on pkg@1111111"),
        ("own.py", "accepts random, and nothing in it draws random numbers on pkg@1111111"),
    ]


def test_of_one_definition_with_many_targets_each_place_is_told_once(tmp_path: Path) -> None:
    shared = """
    @wrapped(targets=["pkg/train.py:plain", "pkg/train.py:say"], why="w")
    def both(x):
        print(x)
        return upstream(x)
    """
    (told,) = risk_problems([_looked(tmp_path, "", {"shared/both.py": shared})])
    assert (told.where, told.targets) == ("pkg@1111111/shared/both.py:4", ("pkg/train.py:plain", "pkg/train.py:say"))


def test_what_pins_share_is_accepted_for_all_where_one_needs_it(tmp_path: Path) -> None:
    """An edit can touch a loss in one version of upstream, and none in another."""
    shared = """
    @edited(("lr > 1", "lr > 2"), why="w", accept=["loss: looked at"])
    def step(): ...
    """
    layer(tmp_path, {"tree/pkg/train.py": shared})
    upstream = text(UPSTREAM)
    looked = []
    for name, content in (("base", upstream), ("new", upstream.replace("out.loss /= lr", "out /= lr"))):
        pin = load(tmp_path, write(tmp_path, {}, name=name))
        looked.append(overlay_risks(pin, apply({PATH: content.encode()}, pin)))
    assert risk_problems(looked) == []
    (told,) = risk_problems(looked[1:])
    assert told.what == "accepts loss, and nothing in it touches a loss on pkg@2222222"
    # Other pins on that layer are not looked at: they may need it.
    assert risk_problems(looked[1:], shared={looked[1].changes[0].layer}) == []


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('accept=("los",)', "`accept` names `los`, which is no danger; did you mean `loss`?"),
        ('accept=("x",)', "`accept` names `x`, which is no danger; write one of advantage, checkpoint"),
        ('accept=("loss:",)', '`accept` gives no reason behind `loss:`; write "loss: why that is right"'),
        ('accept=("loss", "loss: x")', "`accept` names loss twice; name it once, with all its reasons"),
        ('accept="loss"', '`accept` is no list of texts; write accept=("loss: why that is right",)'),
        ("accept=(1,)", '`accept` is no list of texts; write accept=("loss: why that is right",)'),
        ('accept=("loss: a\\u202eb",)', "`accept` holds characters that cannot be shown; write one line of plain text"),
    ],
)
def test_an_acceptance_that_says_nothing_is_refused(tmp_path: Path, said: str, message: str) -> None:
    overlay = f"@wrapped(why='w', {said})\ndef plain(x):\n    return upstream(x)\n"
    with pytest.raises(OverlayError) as caught:
        _looked(tmp_path, overlay)
    assert [message in one for one in mistakes(caught.value)] == [True]


def test_so_is_one_in_settings_and_in_a_patch(tmp_path: Path) -> None:
    config = (
        '[[tool.overlay.edit]]\npaths = ["pkg/conf.yaml"]\nfind = "0.1"\nreplace = "2"\nwhy = "e"\naccept = ["los"]\n'
    )
    config += (
        '[[tool.overlay.file]]\npath = "pkg/own.py"\n[[tool.overlay.file]]\npath = "pkg/no.py"\naccept = ["seed"]\n'
    )
    with pytest.raises(OverlayError) as caught:
        _looked(tmp_path, "", {"tree/pkg/own.py": b"X = 1\n"}, config)
    assert [one.rpartition("pyproject.toml:")[2] for one in mistakes(caught.value)] == [
        "18: tool.overlay.edit[1].accept: `accept` names `los`, which is no danger; did you mean `loss`?",
        (
            "19: tool.overlay.file[1].since: missing, and so are until and accept: the table sets nothing; "
            "write one of the three, or delete the table"
        ),
    ]
    patch = b"Why: p\nAccept: seeds\n\ndiff --git a/pkg/x.txt b/pkg/x.txt\nnew file mode 100644\n--- /dev/null\n"
    patch += b"+++ b/pkg/x.txt\n@@ -0,0 +1 @@\n+a\n"
    with pytest.raises(OverlayError, match="`accept` names `seeds`, which is no danger"):
        _looked(tmp_path / "2", "", {"patches/p.patch": patch})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("computeRewardScore", ["reward"]),
        ("KLDivLoss", ["loss", "loss"]),
        ("load_state_dict", ["checkpoint"]),
        ("use_gradient_checkpoint", []),
        ("compute_gae_advantage_return", ["advantage", "advantage"]),
        ("seedling_closs_rewarded", []),
        ("actor/pg_loss", ["loss"]),
        ("VLLM_SEED", ["seed"]),
    ],
)
def test_names_are_read_word_by_word(name: str, expected: list[str]) -> None:
    assert list(kinds_of_name(name)) == expected
