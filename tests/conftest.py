import os

import numpy as np
import pytest
from hypothesis import settings

# frameworks that would otherwise report on whoever imports them
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}

pytest.register_assert_rewrite("support")

# no limit in time for an example: the first compiles, and others may be busy on the machine; where nobody can try
# again by hand the examples are the same ones each time, so that a failure repeats
settings.register_profile("pellucid", deadline=None, print_blob=True, derandomize=os.environ.get("CI") == "true")
settings.load_profile("pellucid")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
