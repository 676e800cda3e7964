"""Page: what each way took → the tables of the documents, in both languages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_ENGLISH = """\
# Beside other ways to a patched wheel

English | [简体中文](rivals.zh-CN.md)

<!-- `make rivals` writes this page and its picture. -->

From {distribution} {version} to an installed wheel of `{overlay}`, each way from what it has fetched before and
without the network: medians, each contender run {repeats} times in turn with the others, on one machine ({cores} cores,
Python {python}). The patch is what `npu-overlays diff` prints, {lines:,} lines. Every way but the last applies it, and
the files that it installs are compared with ours.

![Seconds to an installed wheel, by way](rivals.svg)

| way | to the wheel | × | installed with pip | × | files that differ from ours |
|---|---|---|---|---|---|
{rows}

`npu-overlays` checks upstream against its hash, applies each operation against what the lock says of its target, checks
the whole tree, and writes the summary, the bill of materials and the statement; `merged before` is a second build of
what has not changed. Fromager {fromager} prepares an environment for each build; `pip wheel` is spared that
(`--no-build-isolation`). Both apply a patch by `patch -p1`, which takes lines that have moved.

What a node pays for patched wheels, beside upstream's:

| what | patched | upstream | × |
|---|---|---|---|
{nodes}
"""
_CHINESE = """\
# 与得到打补丁 wheel 的其他途径相比

[English](rivals.md) | 简体中文

<!-- 本页及其图由 `make rivals` 写出。 -->

`{overlay}` 与 {distribution} {version}：每种途径都从事先取好的内容出发，不用网络，直到装好 wheel；
数字是在同一台机器上轮流运行 {repeats} 次的中位数（{cores} 核，Python {python}）。补丁即 `npu-overlays diff` 的输出，
共 {lines:,} 行；除最后一种外，每种途径都打上它，装好的文件与我们的逐个比较。

![各途径到装好 wheel 所用的秒数](rivals.svg)

| 途径 | 得到 wheel | × | 再用 pip 装好 | × | 与我们不同的文件数 |
|---|---|---|---|---|---|
{rows}

`npu-overlays` 按哈希核对上游，按锁文件核对每个操作的目标，检查整棵树，并写出摘要、物料清单和声明；
`merged before` 是内容未变时的再次构建。Fromager {fromager} 每次构建都准备一个环境；`pip wheel` 则免去了这一步
（`--no-build-isolation`）。两者都用 `patch -p1` 打补丁，行有移动也照打。

节点为打补丁的 wheel 付出多少，与上游相比：

| 内容 | 打补丁 | 上游 | × |
|---|---|---|---|
{nodes}
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way: its name, median seconds to the wheel and of its installation, and how many files came out otherwise."""

    name: str
    making: float
    installing: float
    differing: int | None


@dataclass(frozen=True, kw_only=True)
class Node:
    """What a node pays: for what, and the median seconds of both."""

    what: str
    patched: float
    upstream: float


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What was compared, where: the words of the page, by their names in it."""

    overlay: str
    distribution: str
    version: str
    fromager: str
    lines: int
    repeats: int
    cores: int
    python: str


def pages(setting: Setting, rows: list[Row], nodes: Iterable[Node]) -> dict[str, str]:
    """Return both pages by their names; the first row is what the others are compared with."""
    ours = rows[0]
    words = {
        **vars(setting),
        "rows": "\n".join(_row(row, ours) for row in rows),
        "nodes": "\n".join(_node(node) for node in nodes),
    }
    return {"rivals.md": _ENGLISH.format(**words), "rivals.zh-CN.md": _CHINESE.format(**words)}


def _row(row: Row, ours: Row) -> str:
    whole, of_ours = row.making + row.installing, ours.making + ours.installing
    differing = "" if row.differing is None else str(row.differing)
    times = f"{row.making:.1f} s | {row.making / ours.making:.1f} | {whole:.1f} s | {whole / of_ours:.1f}"
    return f"| {row.name} | {times} | {differing} |"


def _node(node: Node) -> str:
    return f"| {node.what} | {node.patched:.3f} s | {node.upstream:.3f} s | {node.patched / node.upstream:.2f} |"
