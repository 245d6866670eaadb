"""Functions that programs are made of: numpy alone, no network.

Those that a program uses are copied into its file. A select says which keys every query
looks at, [sequence, query, key]; values are whole numbers of positions, [sequence,
position], and -1 where there is none.
"""

import numpy as np

HIGHEST = 2**31 - 1


def frame(t, ahead=False, padding=-1):
    """Places of queries and keys, their tokens, and the keys that a query may see."""
    n = t.shape[1]
    j = np.arange(n)
    i = j[:, None]
    visible = (j <= i) | ahead
    seen = visible & (t != padding)[:, None]
    q = t[:, :, None]
    k = t[:, None, :]
    return n, i, j, q, k, seen


def at_keys(v, s):
    """Values as the keys of a select have them."""
    v = np.broadcast_to(v, s.shape[:2])
    return v[:, None, :]


def earliest(s):
    """The first of the keys."""
    so_far = s.cumsum(2, dtype=np.int32)
    return s & (so_far == 1)


def latest(s):
    """The last of the keys."""
    backwards = s[:, :, ::-1]
    return earliest(backwards)[:, :, ::-1]


def largest(s, k):
    """The keys with the largest value."""
    known = np.where(s, k, -HIGHEST)
    top = known.max(2, keepdims=True)
    return s & (known == top)


def smallest(s, k):
    """The keys with the smallest value."""
    return largest(s, -k)


def otherwise(s, other):
    """The keys of a select, or of another for queries that have none."""
    some = s.any(2, keepdims=True)
    return np.where(some, s, other)


def beside(s, by, seen):
    """The visible keys so many places after those of a select."""
    moved = np.roll(s, by, 2)
    wrapped = slice(0, by) if by > 0 else slice(by, None)
    moved[:, :, wrapped] = False
    return moved & seen


def past(t, mark, token, query, seen):
    """The key at token * (the place of the latest mark) + query * (the own place)."""
    at = np.arange(t.shape[1])
    latest = last(t, mark)
    key = token * latest + query * at
    key[latest < 0] = -1
    return seen & (key[:, :, None] == at)


def last(t, mark):
    """The place of the latest of a token so far; -1 without one."""
    places = np.where(t == mark, np.arange(t.shape[1]), -1)
    return np.maximum.accumulate(places, axis=1)


def runs(t):
    """The number of the run of equal tokens that a position is in."""
    begins = np.ones(t.shape, dtype=int)
    begins[:, 1:] = t[:, 1:] != t[:, :-1]
    return begins.cumsum(1)


def run(s):
    """The last of the keys and those in a row before it."""
    after = s[:, :, ::-1]
    has_begun = after.cumsum(2) > 0
    gaps = (~after & has_begun).cumsum(2)
    return (after & (gaps == 0))[:, :, ::-1]


def once(s, t):
    """The keys whose token stands once among all."""
    alike = t[:, :, None] == t[:, None, :]
    keys = s.astype(np.int32)
    times = keys @ alike.astype(np.int32)
    return s & (times == 1)


def match(s, key, query):
    """The keys whose value is the query's; no value is like none."""
    key = at_keys(key, s)
    query = at_keys(query, s)
    alike = key == query.swapaxes(1, 2)
    return s & alike & (key != -1)


def has(s):
    """True for a query that has a key."""
    return s.any(2)


def size(s):
    """The number of keys of a query."""
    return s.sum(2)


def place(s):
    """The place of the key."""
    at = s.argmax(2)
    return np.where(has(s), at, -1)


def take(s, v):
    """The value at the key."""
    v = np.broadcast_to(v, s.shape[:2])
    at = s.argmax(2)
    brought = np.take_along_axis(v, at, 1)
    return np.where(has(s), brought, -1)


def holds(s, b):
    """True for a query that has a key at which a condition holds."""
    return (s & at_keys(b, s)).any(2)


def count(s, b):
    """The number of keys at which a condition holds."""
    holds = s & at_keys(b, s)
    return holds.sum(2)


def total(s, v):
    """The sum of the values at the keys."""
    v = at_keys(v, s)
    known = np.where(s, v, 0)
    return known.sum(2)


def most(s, v):
    """The largest value at the keys."""
    v = at_keys(v, s)
    known = np.where(s, v, -1)
    return known.max(2)


def least(s, v):
    """The smallest value at the keys."""
    v = at_keys(v, s)
    known = np.where(s, v, HIGHEST)
    lowest = known.min(2)
    return np.where(has(s), lowest, -1)


def mode(s, v):
    """The most frequent value at the keys; of several the smallest."""
    shape = s.shape[:2]
    best = np.full(shape, -1)
    times = np.zeros(shape, int)
    for candidate in np.unique(v):
        number = count(s, v == candidate)
        more = number > times
        best[more] = candidate
        times[more] = number[more]
    return best


def symbols(x, width):
    """A number for every vector: the first place that the same one stands at."""
    vectors = x[:, :, :width]
    query = vectors[:, :, None]
    key = vectors[:, None, :]
    alike = (key == query).all(3)
    return alike.argmax(2)


def vectors_of(x, width, v):
    """The vectors that symbols stand for; zeros for none."""
    vectors = x[:, :, :width]
    at = np.maximum(v, 0)
    looked_at = np.take_along_axis(vectors, at[:, :, None], 1)
    looked_at[v < 0] = 0
    return looked_at
