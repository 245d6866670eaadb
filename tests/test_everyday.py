"""docs/everyday.md says what is so: its snippets run, and print what stands below
them.
"""

import contextlib
import importlib.util
import io
import linecache
import re
from pathlib import Path

import pytest
import torch

import headway
from headway.errors import HeadwayError

PAGE = Path(__file__).parent.parent / "docs" / "everyday.md"


def snippets() -> list[tuple[str, str]]:
    """Every block of Python, and what the page says it prints."""
    found = re.findall(
        r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE.read_text(), re.DOTALL
    )
    return [(code, said) for code, said in found]


def test_the_page_does_what_it_says():
    torch.manual_seed(0)
    names = {}
    ran = 0
    for code, said in snippets():
        needs = re.match(r"# needs (\w+)\n", code)
        if needs and importlib.util.find_spec(needs[1]) is None:
            continue
        printed = io.StringIO()
        name = f"{PAGE.name}[{ran}]"
        # Nnsight reads it.
        linecache.cache[name] = (
            len(code),
            None,
            code.splitlines(True),
            name,
        )
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), names)
        assert printed.getvalue() == said, code
        ran += 1
    assert ran >= 5


def test_a_recipes_name_is_not_its_config():
    with pytest.raises(
        HeadwayError, match=r"config = 'fast' is not allowed.* a RunConfig"
    ):
        headway.train("fast")  # pyright: ignore[reportArgumentType]
