"""How an error is asked for and confirmed: `injection.yaml`."""

from functools import cache

from pydantic import TypeAdapter, ValidationError

from misstep.registry._errors import RegistryError
from misstep.registry._read import FOLDER, Fact
from misstep.registry._yaml import read_yaml

FILE = "injection.yaml"


class InjectionPrompts(Fact):
    """The texts, with their places."""

    system: str
    request: str
    complaint: str
    review_system: str
    review_request: str


@cache
def injection_prompts() -> InjectionPrompts:
    """The prompts.

    Raises:
        RegistryError: The file does not hold what it should.
    """
    try:
        return TypeAdapter(InjectionPrompts).validate_python(read_yaml(FOLDER / FILE))
    except ValidationError as problem:
        raise RegistryError(f"{FOLDER / FILE}: {problem}") from None
