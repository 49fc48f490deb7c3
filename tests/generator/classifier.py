"""A bag-of-words classifier: what the look of a solution gives away."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np

WORD = re.compile(r"[a-z_]+|\d+|[^\w\s]")
LEAST = 5
"""How often a feature must occur to count."""
SMALL = 20


def features(text):
    """Counts of words and pairs of words: with # for digits, and with small numbers as they are."""
    found = WORD.findall(text.lower())
    masked = ["#" * len(word) if word.isdigit() else word for word in found]
    shown = ["##" if word.isdigit() and int(word) > SMALL else word for word in found]
    counts = Counter(masked)
    counts.update(map(" ".join, pairwise(masked)))
    for pair in pairwise(shown):
        if any(word.isdigit() for word in pair):
            counts[" ".join(pair)] += 1
    return counts


def matrix(counted, known):
    """Log counts of the known features, as a sparse list of (places, values) a text."""
    rows = []
    for counts in counted:
        pairs = [(known[name], np.log1p(n)) for name, n in counts.items() if name in known]
        rows.append((np.array([p for p, _ in pairs], int), np.array([v for _, v in pairs])))
    return rows


def accuracy(texts, classes, trained, rounds=4, rate=0.5, shrink=1e-4):
    """Train a logistic regression on the first texts; its accuracy on the rest."""
    counted = [features(text) for text in texts]
    seen = Counter(name for counts in counted[:trained] for name in counts)
    known = {name: place for place, name in enumerate(n for n, c in seen.items() if c >= LEAST)}
    rows = matrix(counted, known)
    kinds = sorted(set(classes))
    weights = np.zeros((len(known), len(kinds)))
    squares = np.full((len(known), len(kinds)), 1e-6)
    random = np.random.default_rng(0)
    for _ in range(rounds):
        for index in random.permutation(trained):
            places, values = rows[index]
            scores = values @ weights[places]
            odds = np.exp(scores - scores.max())
            slope = odds / odds.sum()
            slope[kinds.index(classes[index])] -= 1
            step = values[:, None] * slope + shrink * weights[places]
            squares[places] += step**2
            weights[places] -= rate * 0.1 * step / np.sqrt(squares[places])
    right = [
        kinds[int(np.argmax(values @ weights[places]))] == classes[index]
        for index, (places, values) in enumerate(rows)
        if index >= trained
    ]
    most = Counter(classes[trained:]).most_common(1)[0][1] / len(right)
    return sum(right) / len(right), most
