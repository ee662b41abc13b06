"""Datasets of the experiments: digits and letters, UCI tables, cards, and windows of Eleusis."""

from __future__ import annotations

from experiments.datasets.cards import Cards, cards
from experiments.datasets.eleusis import CONCEPTS, Concept, Windows, eleusis
from experiments.datasets.folds import Fold, uci_fold
from experiments.datasets.images import digits, emnist_letters, mnist
from experiments.datasets.pools import POOL_BACKGROUND, can_express, pool
from experiments.datasets.tables import UCI, TableSpec
from experiments.datasets.uci import Table, uci_table

__all__ = [
    "CONCEPTS",
    "POOL_BACKGROUND",
    "UCI",
    "Cards",
    "Concept",
    "Fold",
    "Table",
    "TableSpec",
    "Windows",
    "can_express",
    "cards",
    "digits",
    "eleusis",
    "emnist_letters",
    "mnist",
    "pool",
    "uci_fold",
    "uci_table",
]
