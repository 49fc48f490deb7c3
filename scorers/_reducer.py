"""A vote over epochs, for those who run `--epochs 8 --epochs-reducer vote`."""

from inspect_ai.scorer import Score, ScoreReducer, score_reducer


@score_reducer(name="vote")
def vote() -> ScoreReducer:
    """The score of the answer that most epochs gave; of several leaders, the first.

    The built-in `mode` votes on right or wrong instead, where wrong answers of different kinds
    gang up on the right one.
    """

    def reduce(scores: list[Score]) -> Score:
        ballots = [(score.metadata or {}).get("ballot", score.answer) for score in scores]
        counts: dict[str, int] = {}
        for ballot in ballots:
            if ballot is not None:
                counts[ballot] = counts.get(ballot, 0) + 1
        if not counts:
            return scores[0]
        winner = max(counts, key=counts.__getitem__)
        elected = scores[ballots.index(winner)]
        record = {"votes": ballots, "counts": counts}
        return elected.model_copy(
            update={"metadata": {**(elected.metadata or {}), "voting": record}}
        )

    return reduce
