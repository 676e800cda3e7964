"""The real upstream: what git and the package index give for one release is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npu_overlays.errors import SourceError
from npu_overlays.sources.acquisition import acquire
from npu_overlays.sources.pin import Archive, Pin

if TYPE_CHECKING:
    from pathlib import Path

VERL = Pin(
    project="verl",
    repository="https://github.com/volcengine/verl",
    commit="d62da4950573d7a4b7ef2362337952e7ab59e78d",
    tag="v0.6.1",
    packages=("verl", "recipe"),
    archives=(
        Archive(
            distribution="verl",
            version="0.6.1",
            file="verl-0.6.1-py3-none-any.whl",
            sha256="a67dd50fb99b402db0c990d4c92710be9a728cb18607515daa0f1e8552e47983",
        ),
    ),
)
TRANSFORMERS = Pin(
    project="transformers",
    repository="https://github.com/huggingface/transformers",
    commit="8365f70e9259c21058bf18f876006f945d2a99de",
    packages=("src/transformers",),
)


@pytest.mark.upstream
@pytest.mark.index
def test_every_file_of_the_verl_wheel_is_the_tags_file(cache: Path) -> None:
    try:
        commit = acquire(VERL, mode="git", cache=cache)
        wheel = acquire(VERL, mode="archive", cache=cache)
    except SourceError as error:
        pytest.skip(f"verl cannot be had here: {error}")
    assert len(wheel.entries) == 338
    assert {path: commit.entries[path] for path in wheel.entries} == wheel.entries
    assert "Name: verl\n" in wheel.metadata


@pytest.mark.upstream
def test_transformers_is_unpacked_whole(cache: Path) -> None:
    try:
        tree = acquire(TRANSFORMERS, mode="git", cache=cache)
    except SourceError as error:
        pytest.skip(f"transformers cannot be had here: {error}")
    assert len(tree.entries) == 5382
    assert tree.links == {"docs/source/en/contributing.md", "docs/source/en/notebooks.md"}
    assert len(tree.read("src/transformers/__init__.py")) > 0
