"""The library of counting predicates that every program can call.

A program that defines one of them itself uses its own definition, and so does a column of that name.
"""

from __future__ import annotations

# Counting is monotone and without negation where it can be: a formula of n goals has about K * n parts.
LIBRARY = """
at_least(K, _) :- integer(K), K =< 0.
at_least(K, [Goal | Goals]) :- integer(K), K > 0, call(Goal), Rest is K - 1, at_least(Rest, Goals).
at_least(K, [_ | Goals]) :- integer(K), K > 0, at_least(K, Goals).
at_most(K, Goals) :- integer(K), More is K + 1, \\+ at_least(More, Goals).
exactly(K, Goals) :- at_least(K, Goals), at_most(K, Goals).
more_than(K, Goals) :- integer(K), More is K + 1, at_least(More, Goals).
fewer_than(K, Goals) :- integer(K), \\+ at_least(K, Goals).
any_of(Goals) :- at_least(1, Goals).
none_of(Goals) :- \\+ at_least(1, Goals).
all_of([]).
all_of([Goal | Goals]) :- call(Goal), all_of(Goals).
"""

# Clauses of the library are numbered from here on, those of a program from 0.
LIBRARY_START = 1_000_000_000

# The predicates whose last argument is a list of goals.
COUNTING = frozenset(
    {"at_least/2", "at_most/2", "exactly/2", "more_than/2", "fewer_than/2", "any_of/1", "none_of/1", "all_of/1"}
)
