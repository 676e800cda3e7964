"""Page: what each way took → the tables of the documents, in both languages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_ENGLISH = """\
# How long a build takes, beside other tools

English | [简体中文](rivals.zh-CN.md)

<!-- `make rivals` writes this page and its picture. -->

You release wheels and want to know what building them costs. This is how long each way takes from
{distribution} {version} to an installed wheel of `{overlay}`. The figures are medians: the ways ran {repeats} times in
turn on {date}, on one machine ({cores} cores, Python {python}), without the network and with everything fetched before.
`npu-overlays diff` then printed a patch of {lines:,} lines. Fromager and `patch, pip wheel` apply this patch;
npu-overlays applies the operations that the patch was made from. The last column compares the installed files with
ours.

![Seconds to an installed wheel, by way](rivals.svg)

| way | to the wheel | × | installed with pip | × | files that differ from ours |
|---|---|---|---|---|---|
{rows}

- **npu-overlays** checks upstream against its hash, every operation against the lock, and the whole patched tree. It
  writes the summary, the bill of materials and the statement. `merged before` is a second build without a change.
- **Fromager {fromager}** prepares an environment for each build.
- **pip wheel** needs no environment here (`--no-build-isolation`).

Fromager and `pip wheel` use `patch -p1`, which also applies a patch to lines that have moved.

The cost of patched wheels on a node, compared with upstream's:

| what | patched | upstream | × |
|---|---|---|---|
{nodes}
"""
_CHINESE = """\
# 构建用时：与其他工具相比

[English](rivals.md) | 简体中文

<!-- 本页及其图由 `make rivals` 写出。 -->

要发布 wheel，构建它们需要多少时间？

下面是各种途径从 {distribution} {version} 到装好 `{overlay}` 的 wheel 需要多久。数字是中位数：
{date}，各途径在同一台机器上轮流运行 {repeats} 次（{cores} 核，Python {python}），不用网络，所需内容均已事先取好。当时
`npu-overlays diff` 的输出是 {lines:,} 行的补丁。Fromager 和 `patch, pip wheel` 应用这个补丁；npu-overlays
合入的是生成它的操作。最后一列把装好的文件与我们的比较。

![各途径到装好 wheel 所用的秒数](rivals.zh-CN.svg)

| 途径 | 得到 wheel | × | 再用 pip 装好 | × | 与我们不同的文件数 |
|---|---|---|---|---|---|
{rows}

- **npu-overlays** 按哈希核对上游，按 lock 核对每个操作，检查改动后的全部源码，并写出修改概述、
  物料清单和声明文件。“再次构建”时没有改动。
- **Fromager {fromager}** 每次构建都准备一个环境。
- **pip wheel** 在这里不需要准备环境（`--no-build-isolation`）。

Fromager 和 `pip wheel` 都使用 `patch -p1`，行的位置有移动时也会应用补丁。

修改版 wheel 在一个节点上的开销，与上游相比：

| 内容 | 修改版 | 上游 | × |
|---|---|---|---|
{nodes}
"""
# Parts of the names of ways and starts; names of tools and commands stay as they are.
_CHINESE_NAMES = {
    ", merged before": "，再次构建",
    "upstream unpatched, ": "未改动的上游，",
    "starting ": "启动 ",
    "importing ": "导入 ",
}


@dataclass(frozen=True, kw_only=True)
class WayCost:
    """One way: its name, median seconds to the wheel and of its installation, and how many files came out otherwise."""

    name: str
    making: float
    installing: float
    differing: int | None


@dataclass(frozen=True, kw_only=True)
class NodeCost:
    """What a node pays: for what, and the median seconds of both."""

    what: str
    patched: float
    upstream: float


@dataclass(frozen=True, kw_only=True)
class PageFacts:
    """What was compared, where: the words of the page, by their names in it."""

    overlay: str
    distribution: str
    version: str
    fromager: str
    lines: int
    repeats: int
    cores: int
    python: str
    date: str


def pages(setting: PageFacts, rows: list[WayCost], nodes: Iterable[NodeCost]) -> dict[str, str]:
    """Return both pages by their names; the first row is what the others are compared with."""
    ours = rows[0]
    tables = {
        "rows": "\n".join(_row(row, ours) for row in rows),
        "nodes": "\n".join(_node(node) for node in nodes),
    }
    translated = {name: in_chinese(text) for name, text in tables.items()}
    return {
        "rivals.md": _ENGLISH.format(**vars(setting), **tables),
        "rivals.zh-CN.md": _CHINESE.format(**vars(setting), **translated),
    }


def in_chinese(names: str) -> str:
    """Return names of ways and starts in Chinese."""
    for english, chinese in _CHINESE_NAMES.items():
        names = names.replace(english, chinese)
    return names


def _row(row: WayCost, ours: WayCost) -> str:
    whole, of_ours = row.making + row.installing, ours.making + ours.installing
    differing = "" if row.differing is None else str(row.differing)
    times = f"{row.making:.1f} s | {row.making / ours.making:.1f} | {whole:.1f} s | {whole / of_ours:.1f}"
    return f"| {row.name} | {times} | {differing} |"


def _node(node: NodeCost) -> str:
    return f"| {node.what} | {node.patched:.3f} s | {node.upstream:.3f} s | {node.patched / node.upstream:.2f} |"
