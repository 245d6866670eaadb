"""A language model so small that weights of it are cut in no time."""

import pytest
from tiny_model import save_tiny_model

from headway_experiments.language import LocalModel


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """Of the model's files."""
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="package")
def model(folder):
    """That goes on with texts."""
    return LocalModel(str(folder), "completion")
