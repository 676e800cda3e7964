"""Page: what differed under each condition → the table of the documents, in both languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reproducibility.conditions import Condition

_ENGLISH = """\
# Same inputs, same bytes

English | [简体中文](reproducibility.zh-CN.md)

<!-- `make reproducibility` writes this page. -->

A wheel follows from the pinned upstream, the overlay, npu-overlays and hatchling, and from nothing else. `make
reproducibility` builds one overlay under each condition below, and compares the wheel and its companion, byte for byte,
with those of a plain `npu-overlays build`. `OVERLAY=verl@d62da49` takes another one. A copy of it is given out as a
revision for that: the version of a development build says when its files changed.

This table is of `{overlay}`, from {source}, with hatchling {hatchling} unless a row names another:

| what is different | what comes of it |
|---|---|
{rows}

A member of a wheel is deflated by the zlib of the Python that builds. Another one, such as zlib-ng, which some builds
of Python have in its place, may give other bytes of the same content: the statement beside a wheel names the zlib.
`WHEEL` names the hatchling, and `RECORD` holds its digest.

All dates in a wheel are one and the same: others would be other bytes under one version. `SOURCE_DATE_EPOCH`, in whole
seconds from 0 to 253402300799, dates a development build's version in the place of its files' last change, so that two
checkouts of one commit give the same bytes; a value that is no such number is refused. Hatchling alone, as in the last
row, dates the members by it: unset it there.

Whether a wheel that you have is what its overlay gives is answered by `npu-overlays reproduce WHEEL`, which names what
differs, down to dates, modes, order and deflating.
"""
_CHINESE = """\
# 输入相同，字节相同

[English](reproducibility.md) | 简体中文

<!-- 本页由 `make reproducibility` 写出。 -->

一个 wheel 只取决于固定的上游、overlay、npu-overlays 和 hatchling，与其他一切无关。`make reproducibility`
在下列每种条件下构建同一个 overlay，把 wheel 及其伴随包与普通的 `npu-overlays build` 的产物逐字节比较。
`OVERLAY=verl@d62da49` 换成另一个。为此它先被发布为修订：开发构建的版本号会写明文件的改动时间。

下表对应 `{overlay}`，来源：{source}；未另行说明时 hatchling 为 {hatchling}。

| 不同之处 | 结果 |
|---|---|
{rows}

wheel 的成员由构建所用 Python 的 zlib 压缩。换一个 zlib（例如有些 Python 改用的 zlib-ng），内容相同而字节可能不同；
wheel 旁的声明文件写明了所用的 zlib。`WHEEL` 写有 hatchling 的版本，`RECORD` 中有它的摘要。

wheel 中的所有日期都相同：否则同一版本会有不同的字节。`SOURCE_DATE_EPOCH`（0 到 253402300799 的整数秒）
代替文件的最后改动时间，写入开发构建的版本号，使同一提交的两份检出得到相同的字节；不是这样的数会被拒绝。
仅用 hatchling 构建时（最后一行），它会决定成员的日期：请先取消设置。

手中的 wheel 是否就是其 overlay 的产物，由 `npu-overlays reproduce WHEEL` 回答：
它列出不同之处，细到日期、权限、顺序和压缩。
"""
_SOURCES = {"git": ("git", "git"), "archive": ("the release archive", "发布包")}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one condition.

    Args:
        condition: the condition.
        differing: the members that differ from those of a plain build, without the folder of metadata.
        note: a version that belongs to it; empty where there is none.
    """

    condition: Condition
    differing: tuple[str, ...]
    note: str = ""


def pages(overlay: str, source: str, hatchling: str, outcomes: Iterable[Outcome]) -> Mapping[str, str]:
    """Return both pages by their names.

    Args:
        overlay: the overlay that was built.
        source: where upstream's bytes came from.
        hatchling: the version that built.
        outcomes: in the order of the table.
    """
    listed = list(outcomes)
    english = [(one.condition.name + _noted(one), _result(one, "the same bytes", "differs: ", ", ")) for one in listed]
    chinese = [(one.condition.chinese + _noted(one), _result(one, "字节相同", "不同：", "、")) for one in listed]
    names = _SOURCES[source]
    return {
        "reproducibility.md": _ENGLISH.format(
            overlay=overlay, source=names[0], hatchling=hatchling, rows=_rows(english)
        ),
        "reproducibility.zh-CN.md": _CHINESE.format(
            overlay=overlay, source=names[1], hatchling=hatchling, rows=_rows(chinese)
        ),
    }


def _noted(one: Outcome) -> str:
    return f" ({one.note})" if one.note else ""


def _result(one: Outcome, same: str, other: str, between: str) -> str:
    return other + between.join(f"`{member}`" for member in one.differing) if one.differing else same


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"| {name} | {result} |" for name, result in rows)
