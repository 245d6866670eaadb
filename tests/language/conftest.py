import gc

import pytest


@pytest.fixture
def collected():
    """Garbage is collected while its warnings are ignored."""
    yield
    gc.collect()
