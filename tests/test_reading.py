"""Files that anyone may have written: regular ones, of bounded size, of strict JSON."""

import os

import pytest

from headway.errors import HeadwayError
from headway.reading import parsed, read_bytes

MOST = 268_435_456


@pytest.mark.parametrize("size", [MOST + 1, 2**40])
def test_a_file_that_is_too_large_is_refused(tmp_path, size):
    path = tmp_path / "large.json"
    path.write_bytes(b"{}")
    os.truncate(path, size)
    with pytest.raises(
        HeadwayError, match=f"has {size} bytes: .* at most {MOST} are read"
    ):
        read_bytes(path)


def test_a_file_of_some_megabytes_is_read(tmp_path):
    (tmp_path / "file").write_bytes(bytes(2**22))
    assert len(read_bytes(tmp_path / "file")) == 2**22


@pytest.mark.parametrize("what", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_refused(tmp_path, what):
    path = tmp_path / "file"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/null")
    with pytest.raises(HeadwayError, match="file is not a file"):
        read_bytes(path)


@pytest.mark.parametrize(
    "inside", ["NaN", "-Infinity", "1e999", "[" * 250 + "]" * 250, "9" * 5000]
)
def test_what_is_no_strict_json_is_refused_wherever_it_stands(inside):
    for text in (inside, f'[1, {{"a": {inside}}}]'):
        with pytest.raises(HeadwayError, match="here is not valid JSON"):
            parsed(text.encode(), "here")


def test_strict_json_is_read():
    deep = "[" * 190 + "]" * 190
    found = parsed(f'{{"é": [1, 2.5e-3, {deep}]}}'.encode(), "here")
    assert found["é"][:2] == [1, 0.0025]
