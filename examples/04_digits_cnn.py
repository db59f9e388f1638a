"""04 - Digits with a convolutional network.

A picture is more than 64 numbers in a row: neighbours belong together, and a stroke is a stroke wherever it is.
Convolution builds both in, batch normalization keeps what flows through at a good size. To know how good it really is,
one number is not enough: five runs, with five splits of the data and five initial weights, and their mean.

    python examples/04_digits_cnn.py [run folder]
"""

import sys
from pathlib import Path

from minburn import Config, FloatTensor, Module, nn
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, digits
from minburn.optim import AdamConfig, CosineAnnealingLrSchedulerConfig
from minburn.train import (
    AccuracyMetric,
    ClassificationOutput,
    Learner,
    LossMetric,
    Renderer,
    SupervisedTraining,
    TrainOutput,
)

EPOCHS = 8
SEEDS = (1, 2, 3, 4, 5)


class ConvBlock(Module):
    """[N, in, H, W] → [N, out, H, W]."""

    conv: nn.Conv2d
    norm: nn.BatchNorm

    def forward(self, x: FloatTensor) -> FloatTensor:
        return nn.Relu()(self.norm(self.conv(x)))


class ConvBlockConfig(Config):
    channels: tuple[int, int]

    def init(self, backend: Backend) -> ConvBlock:
        # A bias would be taken out again by the normalization, which subtracts the mean and adds a shift of its own.
        conv = nn.Conv2dConfig(self.channels, kernel_size=(3, 3), padding=nn.PaddingConfig2d.Same(), bias=False)
        return ConvBlock(conv=conv.init(backend), norm=nn.BatchNormConfig(self.channels[1]).init(backend))


class Cnn(Module):
    """Pictures [N, 8, 8] → logits [N, 10]."""

    blocks: list[ConvBlock]
    pool: nn.MaxPool2d
    last: ConvBlock
    dropout: nn.Dropout
    output: nn.Linear

    def forward(self, images: FloatTensor) -> FloatTensor:
        x = images.unsqueeze_dim(1)  # [N, 1, 8, 8]: one channel, as the pictures are grey
        for block in self.blocks:
            x = block(x)  # [N, 32, 8, 8]
        x = self.last(self.pool(x))  # [N, 32, 4, 4]: the largest of each 2x2 pixels
        return self.output(self.dropout(x.flatten(1, 3)))

    def inference_step(self, batch: digits.Batch) -> ClassificationOutput:
        logits = self(batch.images)
        return ClassificationOutput(nn.CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)

    def train_step(self, batch: digits.Batch) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)


class CnnConfig(Config):
    width: int = 16

    def init(self, backend: Backend) -> Cnn:
        width, wide = self.width, 2 * self.width
        return Cnn(
            blocks=[ConvBlockConfig(channels).init(backend) for channels in ((1, width), (width, wide))],
            pool=nn.MaxPool2dConfig(kernel_size=(2, 2)).init(),
            last=ConvBlockConfig((wide, wide)).init(backend),
            dropout=nn.DropoutConfig(0.3).init(),
            output=nn.LinearConfig(4 * 4 * wide, digits.CLASSES).init(backend),
        )


folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/digits-cnn")
accuracies = []
for seed in SEEDS:
    backend = Autodiff(NumPy(seed=seed))
    train, valid = digits.split(valid=0.2, seed=seed)
    train_loader = DataLoader(train, digits.Batcher(backend), batch_size=64, shuffle=True, seed=seed)
    valid_loader = DataLoader(valid, digits.Batcher(backend.inner), batch_size=256)
    scheduler = CosineAnnealingLrSchedulerConfig(initial_lr=5e-3, num_iters=EPOCHS * len(train_loader)).init()
    training = SupervisedTraining(
        folder / f"seed-{seed}",
        train_loader,
        valid_loader,
        num_epochs=EPOCHS,
        metrics=[LossMetric(), AccuracyMetric()],
        resume="auto",
        renderer=None if seed == SEEDS[0] else Renderer(),  # the first run shows its epochs, the others are silent
    )
    result = training.launch(Learner(CnnConfig().init(backend), AdamConfig().init(), scheduler))
    if result.interrupted:
        sys.exit(130)
    accuracies.append(result.history["valid"]["Accuracy"][-1])
    print(f"seed {seed}: accuracy on {len(valid)} held-out digits {accuracies[-1]:.2f} %")

# In training, batch normalization uses the mean and variance of the batch, and keeps a running mean of them. For use it
# has to know them, as one picture alone has no statistics: so they are no parameters, but they are part of the record.
print(f"{result.model.num_params():,} parameters and statistics, of which the record holds:")
for entry in result.model.into_record():
    print(f"  {entry.path} {list(entry.data.shape)}")

# The claim of this lesson.
mean = sum(accuracies) / len(accuracies)
print(f"mean of {len(SEEDS)} seeds: {mean:.2f} %")
assert mean >= 98.3, f"mean accuracy {mean:.2f} %, expected at least 98.3 %"
