"""A classifier that does not reason: what the look of a solution gives away.

A logistic regression on hashed words and pairs of words, on lengths and on positions.
"""

import re
from itertools import pairwise
from zlib import crc32

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack

WORD = re.compile(r"[a-z_]+|\d+|[^\w\s]")
SMALL = 20
WIDTH = 1 << 13


class Look:
    """The steps of many solutions as counts of words, without what they mean."""

    def __init__(self, solutions):
        self.solutions = solutions
        self.labels = np.array([one.label for one in solutions])
        self.sizes = np.array([len(one.steps) for one in solutions])
        self.start = np.append(0, np.cumsum(self.sizes))
        texts = [step for one in solutions for step in one.steps]
        self.owner = np.repeat(np.arange(len(solutions)), self.sizes)
        self.index = np.arange(len(texts)) - self.start[self.owner]
        self.length = np.array([len(text) for text in texts], float)
        self.words = hashed(texts)

    def error_or_correct(self, count):
        """Tell rows with an error from others: the accuracy after `count` rows, and chance."""
        rows = csr_matrix(
            (np.ones(len(self.owner)), (self.owner, np.arange(len(self.owner)))),
            shape=(len(self.sizes), len(self.owner)),
        )
        features = logs(rows @ self.words)
        classes = self.labels >= 0
        weights = trained(features[:count], classes[:count])
        said = features[count:] @ weights[:-1] + weights[-1] > 0
        share = classes[count:].mean()
        return float((said == classes[count:]).mean()), float(max(share, 1 - share))

    def wrong_step(self, count):
        """Find the wrong step: the share that is found after `count` rows, and chance.

        Chance is what the best constant index finds, counted from the start or from the end.
        """
        with_error = self.labels[self.owner] >= 0
        place = self.index / self.sizes[self.owner]
        mean = np.bincount(self.owner, self.length) / self.sizes
        look = [place, place**2, self.index == 0, place == 1 - 1 / self.sizes[self.owner]]
        look += [self.length / mean[self.owner]]
        features = hstack([logs(self.words), csr_matrix(np.column_stack(look))]).tocsr()
        wrong = self.index == self.labels[self.owner]
        early = with_error & (self.owner < count)
        weights = trained(features[early], wrong[early])
        scores = features @ weights[:-1]
        rows = [row for row in range(count, len(self.sizes)) if self.labels[row] >= 0]
        return self._hits(rows, lambda own: int(np.argmax(scores[own]))), self._chance(rows)

    def rules(self, count):
        """Simple rules that name a step of each row: the share that each finds, and chance."""
        rows = [row for row in range(count, len(self.sizes)) if self.labels[row] >= 0]
        found = {
            "longest": self._hits(rows, lambda own: int(np.argmax(self.length[own]))),
            "shortest": self._hits(rows, lambda own: int(np.argmin(self.length[own]))),
        }
        for name, pick in RULES.items():
            hits = (pick(self.solutions[row].steps) == self.labels[row] for row in rows)
            found[name] = sum(hits) / len(rows)
        return found, self._chance(rows)

    def _hits(self, rows, pick):
        own = (slice(self.start[row], self.start[row + 1]) for row in rows)
        hits = sum(pick(one) == self.labels[row] for row, one in zip(rows, own, strict=True))
        return hits / len(rows)

    def _chance(self, rows):
        labels, sizes = self.labels[rows], self.sizes[rows]
        from_end = np.bincount(sizes - 1 - labels).max()
        return max(np.bincount(labels).max(), from_end) / len(rows)


AGAIN = re.compile(r"earlier result|once more|second check")


def _before_a_check(steps):
    """The step before the first one that checks a result again."""
    return next((place for place, step in enumerate(steps) if AGAIN.search(step)), 1) - 1


def _after_a_check(steps):
    return next((place + 1 for place, step in enumerate(steps) if AGAIN.search(step)), 0)


RULES = {
    "first": lambda steps: 0,
    "last": lambda steps: len(steps) - 1,
    "middle": lambda steps: len(steps) // 2,
    "before a check": _before_a_check,
    "after a check": _after_a_check,
}


def words(text):
    """Words and pairs of words: with # for digits, and with small numbers as they are."""
    found = WORD.findall(text.lower())
    masked = ["#" * len(word) if word.isdigit() else word for word in found]
    shown = ["##" if word.isdigit() and int(word) > SMALL else word for word in found]
    pairs = [pair for pair in pairwise(shown) if pair[0].isdigit() or pair[1].isdigit()]
    return [*masked, *map(" ".join, pairwise(masked)), *map(" ".join, pairs)]


def hashed(texts):
    """Counts of the words, in a row of hashed places for every text."""
    places, rows, known = [], [], {}
    for row, text in enumerate(texts):
        found = words(text)
        for word in found:
            place = known.get(word)
            if place is None:
                place = known[word] = crc32(word.encode()) % WIDTH
            places.append(place)
        rows += [row] * len(found)
    counts = csr_matrix((np.ones(len(rows)), (rows, places)), shape=(len(texts), WIDTH))
    counts.sum_duplicates()
    return counts


def logs(counts):
    """The logarithms of one plus the counts."""
    made = csr_matrix(counts)
    made.data = np.log1p(made.data)
    return made


def trained(features, classes, shrink=1.0, rounds=25):
    """The weights of a logistic regression, the last one for the constant."""
    signs = np.where(classes, 1.0, -1.0)

    def loss(weights):
        margins = signs * (features @ weights[:-1] + weights[-1])
        slope = -signs / (1 + np.exp(np.clip(margins, -50, 50)))
        value = np.logaddexp(0, -margins).sum() + shrink / 2 * (weights[:-1] ** 2).sum()
        return value, np.append(features.T @ slope + shrink * weights[:-1], slope.sum())

    start = np.zeros(features.shape[1] + 1)
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": rounds}).x
