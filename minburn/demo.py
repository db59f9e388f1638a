"""The demo: a classifier of handwritten digits, trained in seconds, which can be killed at any moment and goes on.

    python -m minburn.demo [run folder]

What a user's own training script looks like, plus a few digits drawn in the terminal.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, digits
from minburn.module import Config, Module
from minburn.nn import CrossEntropyLoss, Dropout, DropoutConfig, Linear, LinearConfig, Relu
from minburn.optim import AdamConfig, CosineAnnealingLrSchedulerConfig
from minburn.tensor import FloatTensor
from minburn.train import (
    AccuracyMetric,
    ClassificationOutput,
    Learner,
    LossMetric,
    SupervisedTraining,
    TrainingError,
    TrainOutput,
)

EPOCHS = 40
SEED = 42
SHOWN = 5
INTERRUPTED = 130
"""The exit status of a program that Ctrl-C has stopped."""


class Mlp(Module):
    hidden: Linear
    output: Linear
    activation: Relu
    dropout: Dropout

    def forward(self, images: FloatTensor) -> FloatTensor:
        """[N, 8, 8] → logits [N, 10]."""
        x = images.flatten(1, 2)
        return self.output(self.dropout(self.activation(self.hidden(x))))

    def classify(self, batch: digits.Batch) -> ClassificationOutput:
        logits = self(batch.images)
        return ClassificationOutput(CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)

    def train_step(self, batch: digits.Batch) -> TrainOutput:
        item = self.classify(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def inference_step(self, batch: digits.Batch) -> ClassificationOutput:
        return self.classify(batch)


class MlpConfig(Config):
    hidden: int = 256
    dropout: float = 0.3

    def init(self, backend: Backend) -> Mlp:
        return Mlp(
            hidden=LinearConfig(digits.SIZE * digits.SIZE, self.hidden).init(backend),
            output=LinearConfig(self.hidden, digits.CLASSES).init(backend),
            activation=Relu(),
            dropout=DropoutConfig(self.dropout).init(),
        )


def python_command() -> str:
    """What to type for this interpreter: short if it lies below the current folder, as `.venv/bin/python` does."""
    executable = Path(sys.executable)
    here = Path.cwd()
    return str(executable.relative_to(here) if executable.is_relative_to(here) else executable)


def main(arguments: list[str]) -> int:
    """Train, or go on, or say that the run is finished. Returns the exit status, 130 after Ctrl-C and SIGTERM."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print("usage: python -m minburn.demo [run folder]")
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    folder = Path(arguments[0] if arguments else "runs/digits")
    # While a run trains, it handles Ctrl-C and SIGTERM itself; before and after, both raise KeyboardInterrupt.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return demo(folder, again=f"{python_command()} -m minburn.demo {folder}")
    except KeyboardInterrupt:
        print("demo: stopped. Start it again: it goes on from the last checkpoint.", file=sys.stderr)
        return INTERRUPTED


def demo(folder: Path, again: str) -> int:
    """Train in `folder`, then draw some digits. again: the command that goes on."""
    backend = Autodiff(NumPy(seed=SEED))
    train, valid = digits.split(valid=0.2, seed=SEED)
    train_loader = DataLoader(train, digits.Batcher(backend), batch_size=64, shuffle=True, seed=SEED)
    valid_loader = DataLoader(valid, digits.Batcher(backend.inner), batch_size=256)
    training = SupervisedTraining(
        folder,
        train_loader,
        valid_loader,
        num_epochs=EPOCHS,
        metrics=[LossMetric(), AccuracyMetric()],
        resume="auto",
    )
    scheduler = CosineAnnealingLrSchedulerConfig(initial_lr=5e-3, num_iters=EPOCHS * len(train_loader)).init()
    try:
        result = training.launch(Learner(MlpConfig().init(backend), AdamConfig().init(), scheduler))
    except TrainingError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    if result.interrupted:
        print(f"To go on: {again}")
        return INTERRUPTED

    batch = digits.Batcher(backend.inner).batch([valid.get(i) for i in range(SHOWN)])
    predictions = result.model(batch.images).argmax(1).numpy().ravel().tolist()
    pictures = [digits.draw(image).splitlines() for image in batch.images.numpy()]
    print()
    for lines in zip(*pictures, strict=True):
        print("   ".join(line.ljust(2 * digits.SIZE) for line in lines).rstrip())
    captions = [f"predicted {p}, is {t}" for p, t in zip(predictions, batch.targets.numpy().tolist(), strict=True)]
    print("   ".join(caption.ljust(2 * digits.SIZE) for caption in captions).rstrip())
    print()
    print(f"accuracy on {len(valid)} held-out digits: {result.history['valid']['Accuracy'][-1]:.2f} %")
    print(f"checkpoints: {folder / 'checkpoint'}")
    print(f"resume:      {again}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
