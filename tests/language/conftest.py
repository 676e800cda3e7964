"""Shows what differs where a before/after pair fails."""

import pytest

pytest.register_assert_rewrite("language.pairs")
