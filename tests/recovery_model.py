"""A model for error recovery that knows every answer, and gives it as often as it is told to."""

from hashlib import blake2b

from misstep.registry import find_continuation

FINAL = find_continuation().final
CHANCES = {"NR": 0.5, "CR": 0.8, "IR": 0.3}


def is_final(messages):
    """Whether the last message asks for the final answer."""
    return messages[-1]["content"].startswith(FINAL)


def variation_of(messages, sample):
    """Which variation a conversation is, by what stands in it."""
    told = "\n".join(message["content"] for message in messages[2:])
    if sample.metadata["incorrect_step"] in told.split("\n"):
        return "IR"
    return "CR" if sample.metadata["correct_steps"][0] in told.split("\n") else "NR"


def knows(sample, variation):
    """Whether the model gets it right; the same at every call."""
    digest = blake2b(f"{sample.id}/{variation}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32 < CHANCES[variation]


def student(samples, dress=str):
    """A reply function for the local server.

    Args:
        samples: The problems that it will be asked.
        dress: What becomes of a right answer.
    """
    by_question = {sample.input: sample for sample in samples}

    def reply(request, choice):
        messages = request.body["messages"]
        sample = by_question[messages[1]["content"]]
        if not is_final(messages):
            return " I go on from here."
        right = knows(sample, variation_of(messages, sample))
        return dress(sample.target) if right else "I do not know"

    return reply
