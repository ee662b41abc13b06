"""A small fit for clusters, and a watch over their workers; `python clustered.py MODEL LOG` fits it on Ray."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neuid3 import Examples, NeuID3Classifier, TrainingConfig

RULES = "nn(eye, [I]) :: bright(I). both(A, B) :- bright(A), bright(B)."


def problem() -> tuple[Examples, Any]:
    rng = np.random.default_rng(0)
    bright = rng.random((2, 160)) < 0.5
    images = (rng.random((2, 160, 8, 8)) * 0.2 + 0.8 * bright[:, :, None, None]).astype(np.float32)
    fact = rng.random(160) < 0.05
    return Examples({"left": images[0], "right": images[1], "fact": fact}), bright[0] & (bright[1] | fact)


TRAINING = TrainingConfig(epochs=16, restarts=2, joint_epochs=2)


def classifier(**changed: Any) -> NeuID3Classifier:
    how: dict[str, Any] = {
        "background": RULES,
        "tests": ["fact", "bright(left)", "both(left, right)"],
        "max_depth": 2,
        "random_state": 0,
        "training": TRAINING,
    }
    return NeuID3Classifier(**(how | changed))


class Refusing(torch.nn.Module):
    """Predicts, and refuses to be trained."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(64, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.refuse()
        return torch.sigmoid(self.line(images.flatten(1)))

    def refuse(self) -> None:
        raise ArithmeticError("I will not learn.")


class Deadly(Refusing):
    """Takes the process with it that tries to train it."""

    def refuse(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def dropping() -> torch.nn.Module:
    """A network that draws from torch's own random numbers whenever it is trained."""
    layers = [torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(16, 1)]
    return torch.nn.Sequential(*layers, torch.nn.Sigmoid())


# The watch: every process writes down when columns come to it and when it trains ------------------
def watch(log: str) -> None:
    """Write a line to this file whenever columns are unpacked in this process, and when training begins and ends."""
    from neuid3.training.parallel.shared import SharedColumns
    from neuid3.training.trainer import BatchedTrainer

    def note(event: str) -> None:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {event}\n")

    def noted(method: Callable[..., Any], before: Callable[[], str], after: str | None = None) -> Callable[..., Any]:
        plain = getattr(method, "__wrapped__", method)

        @wraps(plain)
        def call(*given: Any) -> Any:
            note(before())
            result = plain(*given)
            if after is not None:
                note(after)
            return result

        return call

    SharedColumns.__init__ = noted(SharedColumns.__init__, lambda: "columns")  # type: ignore[method-assign]
    BatchedTrainer.advance = noted(  # type: ignore[method-assign]
        BatchedTrainer.advance, lambda: f"begins on {torch.get_num_threads()}", "ends"
    )


def watched(log: Path) -> dict[int, Counter[str]]:
    """What every process wrote down."""
    found: dict[int, Counter[str]] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        pid, event = line.split(" ", 1)
        found.setdefault(int(pid), Counter())[event] += 1
    return found


def training(log: Path) -> set[int]:
    """The processes that are training now."""
    return {pid for pid, events in watched(log).items() if events["begins on 1"] > events["ends"]}


def kill_in_training(log: Path, count: int, seconds: float = 60.0) -> set[int]:
    """Kill so many processes while they train. They are held first, so that none can finish in between."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        chosen = set(sorted(training(log))[:count])
        if len(chosen) == count:
            for pid in chosen:
                os.kill(pid, signal.SIGSTOP)
            caught = chosen <= training(log)
            for pid in chosen:
                os.kill(pid, signal.SIGKILL if caught else signal.SIGCONT)
            if caught:
                return chosen
        time.sleep(0.01)
    raise TimeoutError(f"nobody was caught in training: {watched(log)}")


def fit_on_ray(model: str, log: str) -> None:
    import ray
    from joblib import parallel_config
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80 * 2**20,
        log_to_driver=False,
        runtime_env={"worker_process_setup_hook": lambda: watch(log)},
    )
    register_ray()
    with parallel_config(backend="ray", n_jobs=2):
        classifier().fit(*problem()).save(model)
    ray.shutdown()


if __name__ == "__main__":
    fit_on_ray(*sys.argv[1:])
