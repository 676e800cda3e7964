"""What `make mutate` changes is there: a change to the overlays' code that its table does not follow is named here."""

from __future__ import annotations

import pytest

from mutations.table import Target, read_table

TABLE = read_table()
# Two targets are of one file where its tests are run for several versions of torch_npu.
FILES = [f"{target.file.rpartition('/')[2]}{target.torch_npu and f'-{target.torch_npu}'}" for target in TABLE]


@pytest.mark.parametrize("target", TABLE, ids=FILES)
def test_each_mutation_fits_its_file_once_and_gives_another_program(target: Target) -> None:
    text = target.source.read_text("utf-8")

    for mutation in target.mutations:
        assert text.count(mutation.find) == 1, mutation.find
        mutated = text.replace(mutation.find, mutation.replace)
        assert mutated != text
        compile(mutated, target.file, "exec")
