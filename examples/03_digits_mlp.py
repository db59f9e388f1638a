"""03 - Digits with the Learner.

The loop of the last lesson, as one writes it in earnest: data in batches, metrics, a learning rate that falls, and a
checkpoint after every epoch. Stop it with Ctrl-C and start it again: it goes on where it was. Started once more when it
is finished, it trains nothing and shows the result.

    python examples/03_digits_mlp.py [run folder]
"""

import sys

from minburn import Config, FloatTensor, Module
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, digits
from minburn.nn import CrossEntropyLoss, Dropout, DropoutConfig, Linear, LinearConfig, Relu
from minburn.optim import AdamConfig, CosineAnnealingLrSchedulerConfig
from minburn.train import AccuracyMetric, ClassificationOutput, Learner, LossMetric, SupervisedTraining, TrainOutput

EPOCHS = 30
BATCH_SIZE = 64
SEED = 42


class Mlp(Module):
    """Pictures [N, 8, 8] → logits [N, 10]."""

    hidden: Linear
    output: Linear
    activation: Relu
    dropout: Dropout

    def forward(self, images: FloatTensor) -> FloatTensor:
        x = self.activation(self.hidden(images.flatten(1, 2)))
        return self.output(self.dropout(x))

    # What the Learner calls. An item is what the metrics look at; ClassificationOutput is the usual one.
    def inference_step(self, batch: digits.Batch) -> ClassificationOutput:
        logits = self(batch.images)
        return ClassificationOutput(CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)

    def train_step(self, batch: digits.Batch) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)


# A Config holds what one may want to vary, can be saved as JSON, and makes the module.
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


# 1,797 digits; a fifth of each class is held out. Training needs the backend that records, validation the one below it.
backend = Autodiff(NumPy(seed=SEED))
train, valid = digits.split(valid=0.2, seed=SEED)
train_loader = DataLoader(train, digits.Batcher(backend), batch_size=BATCH_SIZE, shuffle=True, seed=SEED)
valid_loader = DataLoader(valid, digits.Batcher(backend.inner), batch_size=256)

# The rate falls along half a cosine from 5e-3 to 0. A scheduler is asked once a step, so it counts steps, not epochs.
scheduler = CosineAnnealingLrSchedulerConfig(initial_lr=5e-3, num_iters=EPOCHS * len(train_loader)).init()
learner = Learner(MlpConfig().init(backend), AdamConfig().init(), scheduler)

training = SupervisedTraining(
    sys.argv[1] if len(sys.argv) > 1 else "runs/digits-mlp",
    train_loader,
    valid_loader,
    num_epochs=EPOCHS,
    metrics=[LossMetric(), AccuracyMetric()],
    resume="auto",  # the newest checkpoint in the folder, if there is one and the settings are the same
)
result = training.launch(learner)
if result.interrupted:
    sys.exit(130)

# The result is a model for use: on the plain backend, dropout off. Here are the pictures that it gets wrong.
batch = digits.Batcher(backend.inner).batch(list(valid))
guesses = result.model(batch.images).argmax(1).numpy().ravel()
labels = batch.targets.numpy()
wrong = (guesses != labels).nonzero()[0]
for index in wrong[:2]:
    print(f"\ntaken for {guesses[index]}, is {labels[index]}:\n{digits.draw(valid[int(index)])}")

# The claim of this lesson.
accuracy = result.history["valid"]["Accuracy"][-1]
print(f"\n{len(wrong)} of {len(labels)} held-out digits are wrong: accuracy {accuracy:.2f} %")
assert accuracy >= 97.0, f"accuracy {accuracy:.2f} %, expected at least 97 %"
