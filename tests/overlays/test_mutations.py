"""Every mutation of `make mutate` fits the overlays' code; one that does not fit any more is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutations.table import Target, read_table

TABLE = read_table()
# Several targets are of one file where its tests are run for several versions of torch_npu, or on several pins.
FILES = [
    "-".join(filter(None, (Path(one.file).name, one.overlay, one.torch_npu, Path(one.shared).name))) for one in TABLE
]


@pytest.mark.parametrize("target", TABLE, ids=FILES)
def test_each_mutation_fits_its_file_once_and_gives_another_program(target: Target) -> None:
    text = target.source.read_text("utf-8")

    for mutation in target.mutations:
        # The shared file has a definition for each range of versions; each wheel has one of them.
        assert text.count(mutation.find) == 1 or (target.shared and mutation.find in text), mutation.find
        mutated = text.replace(mutation.find, mutation.replace)
        assert mutated != text
        compile(mutated, target.file, "exec")
