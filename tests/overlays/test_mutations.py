"""What `make mutate` changes is there: a change to the overlays' code that its table does not follow is named here."""

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
        # The definitions of each range of versions stand in one shared file; each wheel has one of them.
        assert text.count(mutation.find) == 1 or (target.shared and mutation.find in text), mutation.find
        mutated = text.replace(mutation.find, mutation.replace)
        assert mutated != text
        compile(mutated, target.file, "exec")
