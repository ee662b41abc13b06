"""Which data can be learned from? Digits and letters, UCI tables, cards, and windows of Eleusis."""

from __future__ import annotations

from neuid3.datasets.cards import Cards, cards
from neuid3.datasets.eleusis import CONCEPTS, Concept, Windows, eleusis
from neuid3.datasets.folds import Fold, uci_fold
from neuid3.datasets.images import digits, emnist_letters, mnist
from neuid3.datasets.pools import POOL_BACKGROUND, can_express, pool
from neuid3.datasets.tables import UCI, TableSpec
from neuid3.datasets.uci import Table, uci_table

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
