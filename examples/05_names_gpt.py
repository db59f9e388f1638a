"""05 - A small GPT that invents names.

Letter by letter, a transformer learns what a first name looks like from 4,647 of them, and then makes up its own. Is it
any good? We ask how surprised it is by names that it has never seen, and compare it with the best that counting can do:
how often does this letter follow these two?

    python examples/05_names_gpt.py [run folder]
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minburn import Config, Distribution, FloatTensor, IntTensor, Module, Tensor, nn
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, names
from minburn.optim import AdamWConfig, CosineAnnealingLrSchedulerConfig
from minburn.train import ClassificationOutput, Direction, Learner, LossMetric, Split, SupervisedTraining, TrainOutput

EPOCHS = 10
SEED = 42
LETTERS = "abcdefghijklmnopqrstuvwxyz"
END, PAD = 26, 27  # END stands before and after a name; PAD fills up a batch and counts for nothing
TOKENS = 28
LENGTH = 1 + max(map(len, names.load()))


# A batch: at each place of `inputs`, what comes next is in `targets`.
@dataclass(frozen=True)
class Batch:
    inputs: IntTensor  # [N, T]
    targets: IntTensor  # [N, T]


class Batcher:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def batch(self, items: list[str]) -> Batch:
        table = np.full((len(items), max(map(len, items)) + 2), PAD)
        for row, name in zip(table, items, strict=True):
            row[: len(name) + 2] = [END, *map(LETTERS.index, name), END]
        return Batch(Tensor.from_data(table[:, :-1], self.backend), Tensor.from_data(table[:, 1:], self.backend))


class Gpt(Module):
    """Tokens [N, T] → logits of each next token [N, T, TOKENS]."""

    letters: nn.Embedding
    places: nn.Embedding
    body: nn.TransformerEncoder
    norm: nn.LayerNorm
    head: nn.Linear

    def forward(self, ids: IntTensor) -> FloatTensor:
        count, time = ids.shape
        x = self.letters(ids) + self.places(Tensor.arange(0, time, ids.backend).unsqueeze())
        # With this mask no place sees a later one. It is all that makes an encoder a GPT.
        mask = nn.generate_autoregressive_mask(count, time, ids.backend)
        return self.head(self.norm(self.body(nn.TransformerEncoderInput(x, mask_attn=mask))))

    def inference_step(self, batch: Batch) -> ClassificationOutput:
        logits, targets = self(batch.inputs).flatten(0, 1), batch.targets.flatten(0, 1)
        return ClassificationOutput(nn.CrossEntropyLoss(pad_tokens=(PAD,))(logits, targets), logits, targets)

    def train_step(self, batch: Batch) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)


class GptConfig(Config):
    width: int = 64
    layers: int = 2

    def init(self, backend: Backend) -> Gpt:
        small = nn.Initializer.Normal(mean=0.0, std=0.1)
        body = nn.TransformerEncoderConfig(self.width, 2 * self.width, 4, self.layers, dropout=0.05, norm_first=True)
        return Gpt(
            letters=nn.EmbeddingConfig(TOKENS, self.width, small).init(backend),
            places=nn.EmbeddingConfig(LENGTH, self.width, small).init(backend),
            body=body.init(backend),
            norm=nn.LayerNormConfig(self.width).init(backend),
            head=nn.LinearConfig(self.width, TOKENS).init(backend),
        )


# First the yardstick. Of all windows of three tokens in the training names, count how often which occurs. The
# probability of the last one is a mixture of four guesses: by the two tokens before it, by the one before it, by none,
# and 1 in 27.
def windows(items: list[str]) -> np.ndarray:
    padded = [[END, END, *map(LETTERS.index, name), END] for name in items]
    return np.array([ids[i : i + 3] for ids in padded for i in range(len(ids) - 2)])


def guesses(of: np.ndarray, seen: np.ndarray, leave_out: int) -> np.ndarray:
    """[4, windows]. leave_out: 1 if the windows themselves were counted, so that each is not its own witness."""
    a, b, c = of.T
    pairs = [(seen[a, b, c], seen.sum(2)[a, b]), (seen.sum(0)[b, c], seen.sum((0, 2))[b])]
    pairs.append((seen.sum((0, 1))[c], np.full(len(of), seen.sum())))
    return np.stack([(n - leave_out) / np.maximum(d - leave_out, 1) for n, d in pairs] + [np.full(len(of), 1 / 27)])


train_names, valid_names = names.split(valid=0.1, seed=SEED)
train_windows, valid_windows = windows(list(train_names)), windows(list(valid_names))
counts = np.zeros((27, 27, 27))
np.add.at(counts, tuple(train_windows.T), 1.0)
mixture = np.full(4, 0.25)
for _ in range(50):  # expectation maximization: how much of each window is owed to which guess
    owed = mixture[:, None] * guesses(train_windows, counts, leave_out=1)
    mixture = (owed / owed.sum(0)).mean(1)
trigram_loss = float(-np.log(mixture @ guesses(valid_windows, counts, leave_out=0)).mean())
print(f"counting three letters: {trigram_loss:.4f} nats a letter on {len(valid_names)} unseen names")

# Then the transformer. All validation names are one batch, so that the loss is the mean over their letters, exactly.
backend = Autodiff(NumPy(seed=SEED))
train_loader = DataLoader(train_names, Batcher(backend), batch_size=128, shuffle=True, seed=SEED)
valid_loader = DataLoader(valid_names, Batcher(backend.inner), batch_size=len(valid_names))
schedule = CosineAnnealingLrSchedulerConfig(5e-3, num_iters=EPOCHS * len(train_loader), min_lr=2e-4).init()
model = GptConfig().init(backend)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/names-gpt")
training = SupervisedTraining(
    folder, train_loader, valid_loader, num_epochs=EPOCHS, metrics=[LossMetric()], resume="auto", label="the GPT"
)
result = training.launch(Learner(model, AdamWConfig(weight_decay=0.01).init(), schedule))
if result.interrupted:
    sys.exit(130)

# Trained for long, it learns the names by heart, and gets worse at others. Of the checkpoints the best one stays,
# besides the last two, unless another `strategy` is given. Take that.
best = result.history.find_epoch("Loss", Direction.Lowest, Split.Valid)
assert best is not None
gpt = result.model.load_file(folder / "checkpoint" / f"model-{best}.bpk")
gpt_loss = gpt.inference_step(next(iter(valid_loader))).loss.item()
print(f"the GPT, {gpt.num_params():,} parameters, best after epoch {best}: {gpt_loss:.4f} nats a letter")

# Let it write. To draw a letter by its probability, add -log(-log u) to each logit, u uniform, and take the largest.
plain = backend.inner
ids = IntTensor.full([40, 1], END, plain)
while ids.shape[1] < LENGTH:
    logits = gpt(ids)[:, -1, :PAD]
    noise = Tensor.random(logits.shape, plain, Distribution.Uniform(1e-6, 1.0))
    ids = Tensor.cat([ids, (logits - (-noise.log()).log()).argmax(1)], dim=1)
known = set(names.load())
written = ["".join(LETTERS[i] for i in row[: [*row, END].index(END)]) for row in ids[:, 1:].numpy().tolist()]
invented = sorted({name for name in written if name not in known})
print(f"of {len(written)} names that it wrote, {len(invented)} are new:", *invented[:24])

# The claims of this lesson.
assert gpt_loss < trigram_loss - 0.05, f"the GPT should beat counting: {gpt_loss:.4f} against {trigram_loss:.4f}"
assert len(invented) >= 10, "it only repeats what it has read"
print(f"It is less surprised than the counts by {trigram_loss - gpt_loss:.2f} nats a letter.")
