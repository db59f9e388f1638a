"""06 - Save, kill, resume.

A training run is killed three times, not politely but with SIGKILL, wherever it happens to be: within an epoch, perhaps
within a save. Each time it is started again and goes on. In the end its files are compared with those of a run that
nobody touched: every byte is the same. Not "about the same loss": the same weights, moments, history and random
numbers.

    python examples/06_save_kill_resume.py
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from minburn import Config, FloatTensor, Module
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, digits
from minburn.nn import CrossEntropyLoss, Dropout, DropoutConfig, Linear, LinearConfig, Relu
from minburn.optim import AdamWConfig, LinearLrSchedulerConfig
from minburn.train import AccuracyMetric, ClassificationOutput, Learner, LossMetric, SupervisedTraining, TrainOutput

EPOCHS = 10
KILLS = 3
SAVE_EVERY = 10  # steps


class Mlp(Module):
    hidden: Linear
    output: Linear
    dropout: Dropout  # draws random numbers at every step: a resumed run has to draw the very next ones

    def forward(self, images: FloatTensor) -> FloatTensor:
        return self.output(self.dropout(Relu()(self.hidden(images.flatten(1, 2)))))

    def inference_step(self, batch: digits.Batch) -> ClassificationOutput:
        logits = self(batch.images)
        return ClassificationOutput(CrossEntropyLoss()(logits, batch.targets), logits, batch.targets)

    def train_step(self, batch: digits.Batch) -> TrainOutput:
        item = self.inference_step(batch)
        return TrainOutput(self, item.loss.backward(), item)


class MlpConfig(Config):
    hidden: int = 64

    def init(self, backend: Backend) -> Mlp:
        return Mlp(
            hidden=LinearConfig(64, self.hidden).init(backend),
            output=LinearConfig(self.hidden, 10).init(backend),
            dropout=DropoutConfig(0.2).init(),
        )


def train(folder: Path) -> None:
    """The whole program that is killed. Nothing in it knows about kills; `resume="auto"` is all."""
    backend = Autodiff(NumPy(seed=3))
    train_set, valid_set = digits.split(valid=0.2, seed=3)
    train_loader = DataLoader(train_set, digits.Batcher(backend), batch_size=32, shuffle=True, seed=3)
    valid_loader = DataLoader(valid_set, digits.Batcher(backend.inner), batch_size=256)
    scheduler = LinearLrSchedulerConfig(5e-3, 5e-4, num_iters=EPOCHS * len(train_loader)).init()
    SupervisedTraining(
        folder,
        train_loader,
        valid_loader,
        num_epochs=EPOCHS,
        metrics=[LossMetric(), AccuracyMetric()],
        checkpoint_every_steps=SAVE_EVERY,
        resume="auto",
    ).launch(Learner(MlpConfig().init(backend), AdamWConfig().init(), scheduler))


# This script starts itself: with a folder as argument it is the run, without one it is what you read from here on.
if len(sys.argv) > 1:
    train(Path(sys.argv[1]))
    sys.exit()


def start(folder: Path) -> subprocess.Popen[bytes]:
    log = open(folder / "run.log", "ab")  # noqa: SIM115  # it belongs to the process from here on
    return subprocess.Popen([sys.executable, __file__, str(folder)], stdout=log, stderr=log)


def newest_step(folder: Path) -> int:
    """The last step of a complete checkpoint within an epoch: a set-*.json is put in place when its set is complete."""
    try:
        names = os.listdir(folder / "checkpoint" / "steps")
    except FileNotFoundError:  # before the first one, and between epochs
        return 0
    return max((int(name[4:-5]) for name in names if name.startswith("set-") and name.endswith(".json")), default=0)


def finished(folder: Path) -> bool:
    return (folder / "checkpoint" / f"set-{EPOCHS}.json").exists()


killed, untouched = Path("runs/killed"), Path("runs/untouched")
for folder in (killed, untouched):  # of an earlier start of this script
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

for number in range(1, KILLS + 1):
    before = newest_step(killed)
    process = start(killed)
    while newest_step(killed) < before + 60:  # let it get somewhere: an epoch has 45 steps
        assert process.poll() is None, f"the run ended by itself; see {killed}/run.log"
        time.sleep(0.002)
    time.sleep(random.uniform(0.0, 0.02))  # a few steps and a few saves later, who knows where
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = sorted(path.name for path in (killed / "checkpoint").rglob("*") if path.is_file())
    print(f"kill {number}: after step {newest_step(killed)} or later; {len(left)} files are left")

for folder in (killed, untouched):
    code = start(folder).wait()
    assert code == 0 and finished(folder), f"the run in {folder} failed; see {folder}/run.log"
print(*(line for line in (killed / "run.log").read_text().splitlines() if "Going on" in line), sep="\n")

# Every checkpoint file that the untouched run left: model, optimizer, schedule, state of the run, and what lists them.
files = sorted(path.relative_to(untouched) for path in (untouched / "checkpoint").rglob("*") if path.is_file())
for name in files:
    same = (killed / name).read_bytes() == (untouched / name).read_bytes()
    print(f"{'same bytes' if same else 'DIFFERENT '}  {name}  {(untouched / name).stat().st_size:,} bytes")
    assert same, f"{name} differs: compare {killed} with {untouched}"
assert files == sorted(path.relative_to(killed) for path in (killed / "checkpoint").rglob("*") if path.is_file())
print(f"{KILLS} kills left no trace.")
