"""A model for error recovery that knows every answer and gives it with a fixed probability."""

from hashlib import blake2b

from misstep.registry import find_continuation

FINAL = find_continuation().final
CHANCES = {"NR": 0.5, "CR": 0.8, "IR": 0.3}


def is_final(messages):
    """Return whether the last message asks for the final answer."""
    return messages[-1]["content"].startswith(FINAL)


def variation_of(messages, sample):
    """Return the variation of a conversation, found by the steps in it."""
    given = "\n".join(message["content"] for message in messages[2:]).split("\n")
    if sample.metadata["incorrect_step"] in given:
        return "IR"
    return "CR" if sample.metadata["correct_steps"][0] in given else "NR"


def knows(sample, variation):
    """Return whether the model is right; the result is the same at every call."""
    digest = blake2b(f"{sample.id}/{variation}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32 < CHANCES[variation]


def student(samples, dress=str):
    """Return a reply function for the local server.

    Args:
        samples: The problems that the model is asked.
        dress: Turns a right answer into the reply.
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
