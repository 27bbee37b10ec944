import numpy as np
import pytest

pytest.register_assert_rewrite("support")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
