"""Datasets of the experiments: digits, letters, UCI tables, cards, windows of Eleusis, hitting sets, sums, computed classes, and real decks."""

from __future__ import annotations

from experiments.datasets.cards import Cards, cards
from experiments.datasets.decks import decks
from experiments.datasets.e9p import e9p
from experiments.datasets.eleusis import CONCEPTS, Concept, Windows, eleusis
from experiments.datasets.even_odd import even_odd
from experiments.datasets.folds import Fold, uci_fold
from experiments.datasets.hitting_sets import hitting_sets
from experiments.datasets.images import digits, emnist_letters, fashion_mnist, mnist
from experiments.datasets.labels import labelled_eleusis
from experiments.datasets.pools import POOL_BACKGROUND, can_express, pool
from experiments.datasets.problem import Problem, TrueValues
from experiments.datasets.switched import switched
from experiments.datasets.tables import UCI, TableSpec
from experiments.datasets.uci import Table, uci_table

__all__ = [
    "CONCEPTS",
    "POOL_BACKGROUND",
    "UCI",
    "Cards",
    "Concept",
    "Fold",
    "Problem",
    "Table",
    "TableSpec",
    "TrueValues",
    "Windows",
    "can_express",
    "cards",
    "decks",
    "digits",
    "e9p",
    "eleusis",
    "emnist_letters",
    "even_odd",
    "fashion_mnist",
    "hitting_sets",
    "labelled_eleusis",
    "mnist",
    "pool",
    "switched",
    "uci_fold",
    "uci_table",
]
