"""Conditions: what may be different where a wheel is built, in both languages, and how it is made different."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from environments.pythons import SUPPORTED
from reproducibility.builds import Setting, Tool

OLDEST = "oldest hatchling"

Wheels = dict[str, bytes]


@dataclass(frozen=True, kw_only=True)
class BuildCondition:
    """One row of the table.

    Args:
        name: what is different, in English.
        chinese: likewise, in Chinese.
        build: builds so.
        tool: the installation it takes; empty where any will do.
    """

    name: str
    chinese: str
    build: Callable[[Setting], Wheels]
    tool: str = ""


def _with(**variables: str) -> Callable[[Setting], Wheels]:
    return lambda setting: replace(setting, variables=variables).build()


def _dated(date: str) -> Callable[[Setting], Wheels]:
    return _with(SOURCE_DATE_EPOCH=date)


def _under(umask: str) -> Callable[[Setting], Wheels]:
    return lambda setting: replace(setting, umask=umask).build()


def _elsewhere(setting: Setting) -> Wheels:
    return setting.moved(setting.work / "another place" / "größer").build()


def _cold(setting: Setting) -> Wheels:
    variables = {"NPU_OVERLAYS_CACHE": str(setting.work / "cache"), "NPU_OVERLAYS_ANEW": ""}
    return replace(setting, variables=variables).build()


def _warm(setting: Setting) -> Wheels:
    _cold(setting)
    for file in setting.out.iterdir():
        file.unlink()
    return _cold(setting)


CONDITIONS = (
    *(
        BuildCondition(name=f"Python {one} builds", chinese=f"由 Python {one} 构建", build=Setting.build, tool=one)
        for one in SUPPORTED
    ),
    BuildCondition(
        name="the oldest hatchling that is allowed", chinese="允许的最旧 hatchling", build=Setting.build, tool=OLDEST
    ),
    BuildCondition(
        name="another folder, with blanks and letters beyond ASCII in its path",
        chinese="另一个目录，路径含空格和非 ASCII 字符",
        build=_elsewhere,
    ),
    BuildCondition(
        name="files written in another order, at other dates, with other permissions",
        chinese="文件以另外的顺序、日期和权限写入",
        build=lambda setting: setting.rewritten().build(),
    ),
    *(BuildCondition(name=f"umask {umask}", chinese=f"umask {umask}", build=_under(umask)) for umask in ("000", "077")),
    *(
        BuildCondition(name=f"time zone {zone}", chinese=f"时区 {zone}", build=_with(TZ=zone))
        for zone in ("Asia/Kathmandu", "Pacific/Kiritimati")
    ),
    BuildCondition(
        name="locale C, without UTF-8",
        chinese="locale 为 C，不使用 UTF-8",
        build=_with(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
    ),
    BuildCondition(
        name="locale tr_TR.UTF-8",
        chinese="locale 为 tr_TR.UTF-8",
        build=_with(LANG="tr_TR.UTF-8", LC_ALL="tr_TR.UTF-8"),
    ),
    *(
        BuildCondition(name=f"hash seed {seed}", chinese=f"哈希种子 {seed}", build=_with(PYTHONHASHSEED=seed))
        for seed in ("1", "2")
    ),
    *(
        BuildCondition(name=f"`SOURCE_DATE_EPOCH={date}`", chinese=f"`SOURCE_DATE_EPOCH={date}`", build=_dated(date))
        for date in ("0", "1", "315532800", "4354819200")
    ),
    BuildCondition(name="an empty cache", chinese="空缓存", build=_cold),
    BuildCondition(name="the cache of the build before", chinese="上一次构建留下的缓存", build=_warm),
    BuildCondition(
        name="two builds at once in processes of their own, `--jobs 2`",
        chinese="两个构建同时进行，各用一个进程：`--jobs 2`",
        build=Setting.build_at_once,
    ),
    BuildCondition(name="`python -m build --wheel`", chinese="`python -m build --wheel`", build=Setting.build_by_build),
    BuildCondition(name="`pip wheel`", chinese="`pip wheel`", build=Setting.build_by_pip),
    BuildCondition(
        name="`python -m build`, through the overlay's own sdist",
        chinese="`python -m build`，经过 overlay 自己的 sdist",
        build=Setting.build_through_sdist,
    ),
    BuildCondition(
        name="hatchling alone, from what `npu-overlays sdist` writes",
        chinese="仅用 hatchling，从 `npu-overlays sdist` 的产物构建",
        build=Setting.build_from_forks,
    ),
)


def possible(tools: Mapping[str, Tool]) -> list[BuildCondition]:
    """Return the conditions for which there is an installation."""
    return [one for one in CONDITIONS if not one.tool or one.tool in tools]
