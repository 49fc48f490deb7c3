"""Uploading a built set to the Hugging Face hub."""

from pathlib import Path

from misstep.forge._files import DATA
from misstep.registry import MisstepError


def push_to_hub(folder: Path, repository: str) -> str:
    """Upload the data and the card of a build; the logs and the answers stay here.

    Args:
        folder: The build's folder.
        repository: `owner/name`; made, as a private one, where it is not there.

    Raises:
        MisstepError: There is nothing to upload, or the hub did not take it.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    names = [f"{DATA}.jsonl", f"{DATA}.parquet", "README.md"]
    lacking = [name for name in names if not (folder / name).is_file()]
    if lacking:
        raise MisstepError(f"{folder}: not a finished build; {', '.join(lacking)} is missing.")
    hub = HfApi()
    try:
        hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        done = hub.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=folder,
            allow_patterns=names,
            commit_message="Built by misstep forge",
        )
    # The library's own errors, and those of a network that is not there.
    except (HfHubHTTPError, HFValidationError, OSError, RuntimeError) as problem:
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise MisstepError(
            f"{repository}: the hub did not take it ({reason}). The files are in {folder}; log in "
            "with `hf auth login` and run the same command again."
        ) from None
    return str(done)
