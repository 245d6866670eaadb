"""Files are written whole or not at all, and a byte that changed is noticed."""

import errno
import os

import pytest
import safetensors.torch
import torch

from headway.errors import HeadwayError
from headway.training import files as files_module
from headway.training.files import (
    clear_content_errors,
    read_json,
    read_tensors,
    write_tensors,
    write_whole,
)


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files_module.os, "fsync", full)
    with pytest.raises(
        HeadwayError, match=r"cannot write .*file: No space left on device"
    ):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", [-1, -40])
def test_one_changed_byte_is_noticed(tmp_path, where):
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a": torch.randn(20)}, {"step": 3})
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(HeadwayError, match="does not match its checksum"):
        read_tensors(path)


def swapped(tensors):
    return {"a": tensors["b"], "b": tensors["a"]}


def turned(tensors):
    return {**tensors, "a": tensors["a"].reshape(3, 2)}


def of_another_type(tensors):
    return {**tensors, "a": tensors["a"].view(torch.int32)}


def renamed(tensors):
    return {"a": tensors["a"], "c": tensors["b"]}


def without(tensors):
    return {"a": tensors["a"]}


@pytest.mark.parametrize("change", [swapped, turned, of_another_type, renamed, without])
def test_the_same_bytes_under_another_name_shape_or_type_are_noticed(tmp_path, change):
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a": torch.randn(2, 3), "b": torch.zeros(2, 3)}, {"step": 3})
    tensors, _ = read_tensors(path)
    with safetensors.safe_open(path, framework="pt") as file:
        about = file.metadata()
    changed = {name: tensor.contiguous() for name, tensor in change(tensors).items()}
    safetensors.torch.save_file(changed, path, about)
    with pytest.raises(HeadwayError, match="does not match its checksum"):
        read_tensors(path)


def test_what_is_said_about_tensors_is_checked_too(tmp_path):
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a": torch.zeros(2)}, {"step": 3})
    path.write_bytes(path.read_bytes().replace(b'\\"step\\": 3', b'\\"step\\": 4'))
    with pytest.raises(HeadwayError, match="does not match its checksum"):
        read_tensors(path)


def test_content_errors_are_one_line():
    complaint = r"^f is corrupted or of another version: KeyError: 'x'$"
    with pytest.raises(HeadwayError, match=complaint), clear_content_errors("f"):
        _ = dict[str, int]()["x"]
    with (
        pytest.raises(HeadwayError, match=r": RuntimeError: one$"),
        clear_content_errors("f"),
    ):
        raise RuntimeError("one\ntwo")
    with pytest.raises(HeadwayError, match=r"^as it was$"), clear_content_errors("f"):
        raise HeadwayError("as it was")


def test_json_that_is_not_text(tmp_path):
    (tmp_path / "f").write_bytes(b"\xff\xfe")
    with pytest.raises(HeadwayError, match=r"f is not valid JSON: .* in position"):
        read_json(tmp_path / "f")
