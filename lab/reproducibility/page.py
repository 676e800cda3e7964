"""Page: what differed under each condition → the table of the documents, in both languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reproducibility.conditions import BuildCondition

_ENGLISH = """\
# Same inputs, same bytes

English | [简体中文](reproducibility.zh-CN.md)

<!-- `make reproducibility` writes this page. -->

You build a wheel again and expect the same bytes. The content of a wheel depends on the pinned upstream, the overlay
with its layers, the paired overlays, the stacks' extras, npu-overlays and hatchling. Its bytes also depend on zlib. The
version of a development build contains the time.

`make reproducibility` builds one overlay under each condition below. It compares the wheel and its companion, byte
for byte, with those of a plain `npu-overlays build`; where a command makes no companion, the wheel alone.
`OVERLAY=verl@d62da49` names another overlay. The test builds a revision, because the version of a development build has
the time at which its files changed.

This table is for `{overlay}`, built from {source}, with hatchling {hatchling} unless a row names another:

| condition | result |
|---|---|
{rows}

- **zlib.** The Python that builds compresses the members of a wheel with its zlib. Some builds of Python have another
  zlib, such as zlib-ng, which may give other bytes for the same content. The statement beside a wheel names the zlib.
- **hatchling.** `WHEEL` names its version, and `RECORD` holds the digest of `WHEEL`.
- **Dates.** All files in a wheel have one fixed date, since other dates would be other bytes under one version.
- **`SOURCE_DATE_EPOCH`**, in whole seconds from 0 to 253402300799, replaces the time of the last change in a
  development build's version. With it, two checkouts of one commit give the same bytes. The build refuses any other
  value. If hatchling alone builds, as in the last row, it dates the members by this variable: unset it there.

To find out whether a wheel is what its overlay gives, run
[`npu-overlays reproduce WHEEL`](evidence.md#making-a-wheel-again).
"""
_CHINESE = """\
# 输入相同，字节相同

[English](reproducibility.md) | 简体中文

<!-- 本页由 `make reproducibility` 写出。 -->

重新构建一个 wheel，字节应当相同。wheel 的内容取决于固定的上游、overlay 及其 layer、配套的 overlay、stack 的
extra、npu-overlays 和 hatchling；它的字节还取决于 zlib，开发构建的版本号还取决于时间。

`make reproducibility` 在下列每种条件下构建同一个 overlay，把 wheel 及其伴随包与普通的 `npu-overlays build`
的产物逐字节比较；不产生伴随包的命令只比较 wheel。`OVERLAY=verl@d62da49` 可指定另一个 overlay。这里构建的是修订，
因为开发构建的版本号写有文件的改动时间。

下表对应 `{overlay}`，来源为{source}；未另行说明时 hatchling 为 {hatchling}。

| 条件 | 结果 |
|---|---|
{rows}

- **zlib。** 构建所用的 Python 以自己的 zlib 压缩 wheel 的成员。有些 Python 使用另一种 zlib（例如 zlib-ng），
  内容相同而字节可能不同。wheel 旁的声明文件写明了所用的 zlib。
- **hatchling。** `WHEEL` 写有它的版本，`RECORD` 中有 `WHEEL` 的摘要。
- **日期。** wheel 中所有文件的日期都是同一个固定值，否则同一版本会有不同的字节。
- **`SOURCE_DATE_EPOCH`**（0～253402300799 的整数秒）代替文件的最后改动时间，写入开发构建的版本号，使同一 commit
  的两份检出得到相同的字节。其他取值会被拒绝。单用 hatchling 构建时（最后一行），它以这个变量作为成员的日期：
  请先取消设置。

要知道手中的 wheel 是否就是其 overlay 的产物，请运行
[`npu-overlays reproduce WHEEL`](evidence.zh-CN.md#重新构建一个-wheel)。
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

    condition: BuildCondition
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
