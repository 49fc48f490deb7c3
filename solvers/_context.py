"""Whether prompts are likely to fit a model's context, said before a run and not after."""

import logging
from collections.abc import Iterable

from misstep.registry import CHARACTERS_PER_TOKEN

logger = logging.getLogger(__name__)


def warn_of_long_prompts(prompts: Iterable[tuple[object, str]], context: int | None) -> None:
    """Warn where the longest prompt is estimated to be longer than the context.

    Args:
        prompts: Each sample's id and prompt.
        context: The model's context in tokens; nothing is said where it is not given.
    """
    if context is None:
        return
    tokens = {id: -(-len(prompt) // CHARACTERS_PER_TOKEN) for id, prompt in prompts}
    beyond = [id for id, count in tokens.items() if count > context]
    if beyond:
        longest = max(beyond, key=tokens.__getitem__)
        logger.warning(
            "%d of %d prompts are estimated to exceed the context of %s tokens; the longest is "
            "that of %r, about %s. A prompt that the model refuses for its length counts as "
            "truncated.",
            len(beyond),
            len(tokens),
            f"{context:,}",
            longest,
            f"{tokens[longest]:,}",
        )
