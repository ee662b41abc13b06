"""How networks are trained, selected and reused in a fit."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from neuid3.errors import ParameterError, did_you_mean
from neuid3.networks.backend import Backend, backend_name, select_backend
from neuid3.utils.fields import FieldRule, FlagField, IntegerField, NumberField, OptionalField, TextField, read_field

# The values that each field of a `TrainingConfig` may have; the command line checks its options with them, too.
TRAINING_RULES: dict[str, FieldRule] = {
    "loss": TextField(("leaves", "branches")),
    "epochs": IntegerField(1),
    "batch_size": IntegerField(1),
    "learning_rate": NumberField(0.0, is_open=True),
    "one_cycle": FlagField(),
    "weight_decay": NumberField(0.0),
    "max_steps": OptionalField(IntegerField(1)),
    "sharpness": NumberField(0.0, is_open=True),
    "augment": FlagField(),
    "shift": IntegerField(0),
    "warp": NumberField(0.0, 1.0),
    "restarts": IntegerField(1),
    "validation_fraction": OptionalField(NumberField(0.0, 1.0)),
    "reuse": FlagField(),
    "rounds": IntegerField(0),
    "pretrain": FlagField(),
    "shared": FlagField(),
    "joint_epochs": IntegerField(0),
    "joint_learning_rate": NumberField(0.0, is_open=True),
    "min_reach": NumberField(0.0, 1.0),
    "prune": FlagField(),
    "device": TextField(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How the networks of a fit are trained, selected and reused.

    The defaults were chosen by measurement; `TrainingConfig.paper()` has the values of the paper. A field is changed with
    `dataclasses.replace`, or in a classifier with `set_params(training__epochs=5)`. Values of NumPy's scalar types become
    Python's.

    Parameters
    ----------
    loss : {"leaves", "branches"}
        "leaves" is the likelihood of a tree of this one test, whose two leaf distributions are trained with it;
        "branches" is the paper's weighted cross-entropy, with one class for each branch of the test.
    epochs : int
        The most passes over the examples of a node; fewer where `max_steps` is reached earlier.
    batch_size : int
        Examples in a minibatch.
    learning_rate : float
        The learning rate of Adam; with `one_cycle`, the highest of the cycle.
    one_cycle : bool
        Whether the learning rate follows a one-cycle schedule; it is constant otherwise.
    weight_decay : float
        Decoupled weight decay of networks; leaves have none.
    max_steps : int, optional
        Gradient steps after which no further epoch begins, but never before three epochs; None for no such limit.
    sharpness : float
        The factor of the last weights of a new multi-class network; above 1, its first outputs are far from uniform.
        Where its values are almost equally probable, rules have next to no gradient.
    augment : bool
        Whether networks are trained on augmented images: slightly shifted, rotated, stretched and sheared.
    shift : int
        The largest random shift of an image, in pixels.
    warp : float
        The largest random rotation, stretch and shear of an image, as a fraction.
    restarts : int
        Random restarts of a rule's networks, between which successive halving chooses (see `neuid3.training.halving`);
        half as many for a network that is a test by itself, and fewer where networks have batch normalisation. They differ
        in their random weights, in the class that the test is to be true for and in the grayscale warm-up.
    validation_fraction : float, optional
        The fraction of examples in the validation split, which networks are scored on and not trained on, unless `fit`
        is given `validation`. None: no validation split at all, also where `fit` is given one; networks are scored on
        their training examples. Without effect where no candidate has a network.
    reuse : bool
        Whether all tests of a tree that use a declared network call one instance of it, which may also serve other tests
        of its architecture. Without it every test has instances of its own, and no tree is regrown.
    rounds : int
        The most times that the tree is regrown from its trained networks and trained jointly again; it ends earlier
        where validation examples do not become likelier.
    pretrain : bool
        Whether all candidates together train the networks that they share, where the grown tree leaves much unexplained;
        a tree is regrown from these, and the better one remains. With labels of concepts this comes first.
    shared : bool
        Whether four or more image columns share networks that are trained on all of them: for columns with images of
        one kind that are too little informative each. It needs `reuse`.
    joint_epochs : int
        Epochs of the joint training of the finished tree; 0 turns it off.
    joint_learning_rate : float
        The highest learning rate of joint training.
    min_reach : float
        Examples that reach a node with P(κ|e) below it are left out of the node, also in a tree without networks.
    prune : bool
        Whether splits must save the bits that the `pruning` of the classifier demands.
    device : str
        Where networks run, as torch names it.
    backend : str or `neuid3.networks.Backend`
        Who runs and trains the networks: "auto" is the fastest on this machine, "torch" the reference, which runs one
        module after the other; or a backend of your own, or the name by which it is registered when a fit begins.

    Raises
    ------
    ParameterError : where a value is not allowed.
    BackendError : where `backend` is neither a name nor a backend.

    >>> TrainingConfig(epochs=5).epochs
    5
    >>> TrainingConfig.paper(restarts=3).loss
    'branches'
    """

    loss: Literal["leaves", "branches"] = "leaves"
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3
    one_cycle: bool = True
    weight_decay: float = 0.01
    max_steps: int | None = 600
    sharpness: float = 8.0
    augment: bool = True
    shift: int = 2
    warp: float = 0.2
    restarts: int = 4
    validation_fraction: float | None = 0.2
    reuse: bool = True
    rounds: int = 4
    pretrain: bool = True
    shared: bool = False
    joint_epochs: int = 60
    joint_learning_rate: float = 2e-3
    min_reach: float = 1e-3
    prune: bool = True
    device: str = "cpu"
    backend: str | Backend = "auto"

    def __post_init__(self) -> None:
        for name, rule in TRAINING_RULES.items():
            object.__setattr__(self, name, read_field(name, getattr(self, name), rule))
        if not isinstance(self.backend, str):
            select_backend(self.backend)  # raises an error where it is no backend
        if self.shared and not self.reuse:
            raise ParameterError(
                "shared=True calls one network on many columns, which reuse=False forbids (as the paper's training does); "
                "leave one of them out."
            )

    def to_json(self) -> dict[str, Any]:
        """The fields by name; the backend by its own name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"backend": backend_name(self.backend)}

    @classmethod
    def paper(cls, **changes: Any) -> TrainingConfig:
        """The training of the paper, for two classes: one restart, all examples, no reuse and no pruning.

        Parameters
        ----------
        **changes : fields with other values.

        Returns
        -------
        The configuration.
        """
        return replace(PAPER_TRAINING, **changes)

    @property
    def max_shift(self) -> int:
        """The largest shift of an image, in pixels; 0 without augmentation."""
        return self.shift if self.augment else 0

    @property
    def max_warp(self) -> float:
        """The largest rotation, stretch and shear of an image, as a fraction; 0 without augmentation."""
        return self.warp if self.augment else 0.0

    def steps(self, examples: int) -> int:
        """Number of gradient steps of a training on so many examples.

        Parameters
        ----------
        examples : the number of training examples.

        Returns
        -------
        The number of minibatches over all epochs, at most `max_steps`.

        >>> TrainingConfig(epochs=30, batch_size=10, max_steps=100).steps(100)
        100
        """
        batches = max(1, -(-examples // self.batch_size))
        epochs = self.epochs if self.max_steps is None else min(self.epochs, max(3, -(-self.max_steps // batches)))
        return epochs * batches


PAPER_TRAINING = TrainingConfig(
    loss="branches",
    epochs=20,
    batch_size=32,
    learning_rate=1e-3,
    one_cycle=False,
    weight_decay=0.0,
    max_steps=None,
    sharpness=1.0,
    augment=False,
    restarts=1,
    validation_fraction=None,
    reuse=False,
    rounds=0,
    pretrain=False,
    joint_epochs=0,
    prune=False,
)

# The configurations that have a name.
NAMED_TRAINING = {"default": TrainingConfig(), "paper": PAPER_TRAINING}


def read_training(training: str | TrainingConfig) -> TrainingConfig:
    """The configuration that the parameter `training` of an estimator stands for.

    Parameters
    ----------
    training : "default", "paper", or a configuration.

    Raises
    ------
    ParameterError : where it is none of these.

    >>> read_training("paper").epochs
    20
    """
    if isinstance(training, TrainingConfig):
        return training
    if isinstance(training, str) and training in NAMED_TRAINING:
        return NAMED_TRAINING[training]
    raise ParameterError(
        f"training={training!r:.60} is not a way to train networks; give 'default', 'paper', or TrainingConfig(…)."
    )


def changed_training(training: str | TrainingConfig, changes: dict[str, Any]) -> TrainingConfig:
    """A configuration with other values in some fields.

    Parameters
    ----------
    training : "default", "paper", or a configuration.
    changes : the new values, by field.

    Raises
    ------
    ParameterError : where there is no such field, or a value is not allowed.
    """
    known = [field.name for field in fields(TrainingConfig)]
    for name in changes:
        if name not in known:
            raise ParameterError(f"TrainingConfig has no field {name!r}.{did_you_mean(name, known)}")
    return replace(read_training(training), **changes)
