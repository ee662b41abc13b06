"""The scikit-learn estimators, and the loading of saved ones."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.estimators.boosting import NeuID3BoostingClassifier, NeuID3BoostingRegressor
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.estimators.loading import load
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.estimators.regressor import NeuID3Regressor
    from neuid3.estimators.sum_model import NeurosymbolicSum

__all__ = [
    "NeuID3BoostingClassifier",
    "NeuID3BoostingRegressor",
    "NeuID3Classifier",
    "NeuID3Regressor",
    "NeurosymbolicSum",
    "NeurosymbolicTree",
    "load",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.estimators.boosting": ["NeuID3BoostingClassifier", "NeuID3BoostingRegressor"],
        "neuid3.estimators.classifier": ["NeuID3Classifier"],
        "neuid3.estimators.loading": ["load"],
        "neuid3.estimators.model": ["NeurosymbolicTree"],
        "neuid3.estimators.regressor": ["NeuID3Regressor"],
        "neuid3.estimators.sum_model": ["NeurosymbolicSum"],
    },
)
