"""`misstep prm`: bring your own process reward model, and check one."""

from typing import Any

import click
import httpx

from misstep.cli._options import json_option
from misstep.cli._output import print_json
from misstep.loaders import write_files
from misstep.registry import MisstepError, Prm, prms, user_registry
from misstep.rewards import SOLUTIONS, ProbeResult, marked_input, probe_prm

_FORMATS = ("qwen2.5-math-prm-7b", "math-shepherd-mistral-7b-prm", "skywork-prm-1.5b")
"""The known input formats that are tried on a server, in this order."""

_server = click.option("--server", metavar="URL", help="Address of the vLLM server.")
_path = click.option(
    "--path",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    metavar="FOLDER",
    help="Weights to run in this process instead.",
)
_trusted = click.option(
    "--trust-remote-code",
    "trusted",
    is_flag=True,
    help="Let the weights of --path run their own code on this machine.",
)


@click.group()
def prm() -> None:
    """Add your own process reward model to your registry, or check a model."""


@prm.command()
@click.argument("name")
@_server
@_path
@_trusted
@click.option("--model", "served", help="Name of the model on the server. Default: its only one.")
@click.option("--like", help="Known model with the same input format. Default: try all formats.")
@click.option("--step-token", help="The separator after a step, if it differs.")
@click.option("--template", help="The whole input, with {problem} and {steps}, if it differs.")
@click.option("--bos", default="<|endoftext|>", help="The BOS text, if the format has one.")
def new(
    name: str,
    server: str | None,
    path: str | None,
    trusted: bool,
    served: str | None,
    like: str | None,
    **overrides: str | None,
) -> None:
    """Probe a reward model and add it to your registry as NAME.

    The probe shows the exact input, scores three solutions with known wrong steps, and says
    whether right steps score higher. A model that gives no reward for every step is not added.
    """
    if name in prms():
        raise MisstepError(f"There is already a reward model {name!r}. Choose another name.")
    if (server is None) == (path is None):
        raise MisstepError("Give --server URL, or --path FOLDER with the weights.")
    if server is not None:
        served = served or _only_model(server)
    given = {key: value for key, value in overrides.items() if value is not None}
    results: list[ProbeResult] = []
    for known in [like] if like else _FORMATS:
        result = _probe(known, server, path, trusted, served, given)
        passed = f"right minus wrong steps {result.gap:+.3f}" if result.passes else result.missing
        click.echo(f"Format of {known}: {passed}")
        results.append(result)
    passing = [result for result in results if result.passes]
    if not passing:
        raise MisstepError(
            "No format gave a reward for every step, so nothing was added. See the reasons above; "
            "give the format with --like, --template and --step-token."
        )
    best = max(passing, key=lambda result: result.gap)
    _show(best, given.get("bos") or "")
    file = user_registry() / "prms.yaml"
    before = file.read_bytes() if file.is_file() else b""
    entry = _entry(name, best.prm, served or path or name, server or str(path))
    write_files({file: before + entry}, "Set MISSTEP_REGISTRY to a folder that can be written.")
    provider = f"prm/{name} --model-base-url {server}" if server else f"local_prm/{name}"
    provider += " -M trust_remote_code=true" if trusted else ""
    click.echo(f"\nAdded to {file}. Run it:")
    click.echo(f"inspect eval misstep/processbench.sample -T critic=reward --model {provider}")


@prm.command()
@click.argument("name")
@_server
@_path
@_trusted
@click.option("--bos", default="", help="The BOS text, if the format has one.")
@json_option
def check(
    name: str, server: str | None, path: str | None, trusted: bool, bos: str, as_json: bool
) -> None:
    """Probe the registered reward model NAME. The exit code is 1 if a step has no reward."""
    if (server is None) == (path is None):
        raise MisstepError("Give --server URL, or --path FOLDER with the weights.")
    result = _probe(name, server, path, trusted, None, {"bos": bos} if bos else {})
    if not result.passes:
        raise MisstepError(f"{name}: {result.missing}")
    if as_json:
        gap, discriminates = result.gap, result.discriminates
        print_json({"rewards": result.rewards, "gap": gap, "discriminates": discriminates})
    else:
        _show(result, bos)


def _only_model(server: str) -> str:
    """Return the name of the only model of a server."""
    url = f"{server.rstrip('/').removesuffix('/v1')}/v1/models"
    try:
        found = [str(one["id"]) for one in httpx.get(url, timeout=30).json()["data"]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as problem:
        raise MisstepError(f"{url}: the server lists no models ({problem}).") from None
    if len(found) != 1:
        raise MisstepError(f"{url} lists {', '.join(found) or 'no model'}: choose one by --model.")
    return found[0]


def _probe(
    known: str,
    server: str | None,
    path: str | None,
    trusted: bool,
    served: str | None,
    given: dict[str, str],
) -> ProbeResult:
    import anyio
    from inspect_ai.model import get_model

    arguments: dict[str, Any] = dict(given)
    facts = prms().get(known)
    if facts is None or "{bos}" not in str(facts.template) or path:
        arguments.pop("bos", None)
    if server is not None:
        arguments |= {"base_url": server} | ({"served": served} if served else {})
    else:
        arguments |= {"path": path} | ({"trust_remote_code": True} if trusted else {})
    model = get_model(f"{'prm' if server else 'local_prm'}/{known}", memoize=False, **arguments)

    async def run() -> ProbeResult:
        async with model:
            try:
                return await probe_prm(model, model.api.prm)  # type: ignore[attr-defined]
            except (MisstepError, httpx.HTTPError) as problem:
                return ProbeResult(model.api.prm, [], str(problem))  # type: ignore[attr-defined]

    return anyio.run(run)


def _show(result: ProbeResult, bos: str) -> None:
    """Print the rendered input of the first solution, and the rewards of all."""
    first = SOLUTIONS[0]
    click.echo("\nThe input of the first solution, with ◀ after each scored position:\n")
    click.echo(marked_input(result.prm, first.problem, first.steps, bos))
    for solution, rewards in zip(SOLUTIONS, result.rewards, strict=True):
        click.echo(f"\n{solution.problem}")
        for step, (text, reward) in enumerate(zip(solution.steps, rewards, strict=True)):
            side = "right" if step < solution.first_wrong else "wrong"
            side = side if step <= solution.first_wrong else "after the error"
            click.echo(f"  {reward:.4f}  {side:15}  {text}")
    verdict = "every" if result.discriminates else "NOT every"
    click.echo(
        f"\nRight steps score {result.gap:+.3f} more in the mean than first wrong steps; {verdict} "
        "right step scores higher than every first wrong step."
    )


def _entry(name: str, found: Prm, repository: str, source: str) -> bytes:
    """Return the entry of a model for the user's registry."""
    import yaml

    facts = found.model_dump(exclude_none=True, exclude={"sources", "serve"})
    facts |= {"repository": repository, "sources": {"format": f"misstep prm new, {source}"}}
    return yaml.safe_dump({name: facts}, allow_unicode=True, sort_keys=False).encode()
