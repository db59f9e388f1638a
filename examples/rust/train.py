"""Train here, serve in Rust: what `docs/train-here-serve-in-rust.md` walks through.

python examples/rust/train.py runs/rust            trains 60 steps; checkpoints after 30 and 60
cargo run --release --manifest-path tests/burn/Cargo.toml --bin serve -- runs/rust
python examples/rust/train.py runs/rust --compare  Burn's 60 steps, the first 30 of which are ours, and ours
"""

import sys
from pathlib import Path

import numpy as np

from minburn import FloatTensor, Module
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import DataLoader, digits
from minburn.module import ModuleRecord
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig
from minburn.optim import AdamConfig, CosineAnnealingLrSchedulerConfig, GradientsParams
from minburn.tensor import activation
from minburn.train.checkpoint import FileCheckpointer

BATCH, MIDDLE, END = 32, 30, 60


class Mlp(Module):
    hidden: Linear
    output: Linear

    def forward(self, images: FloatTensor) -> FloatTensor:
        return self.output(activation.relu(self.hidden(images)))


def mlp(backend: Backend) -> Mlp:
    return Mlp(hidden=LinearConfig(64, 32).init(backend), output=LinearConfig(32, 10).init(backend))


def train(run: Path) -> None:
    backend = Autodiff(NumPy(seed=42))
    model = mlp(backend)
    optim = AdamConfig().init()
    scheduler = CosineAnnealingLrSchedulerConfig(0.01, END).init()
    checkpointers = {name: FileCheckpointer(run / "checkpoint", name) for name in ("model", "optim", "scheduler")}
    batches = iter_batches(backend)
    rows = []
    for step in range(1, END + 1):
        batch = next(batches)
        images = batch.images.flatten(1, 2)
        loss = CrossEntropyLoss()(model(images), batch.targets)
        grads = GradientsParams.from_grads(loss.backward(), model)
        model = optim.step(scheduler.step(), model, grads)
        if step in (MIDDLE, END):
            checkpointers["model"].save(step, model.into_record())
            checkpointers["optim"].save(step, optim.into_record())
            checkpointers["scheduler"].save(step, scheduler.into_record())
        if step > MIDDLE:  # what Burn is to go on with: no file of Burn's says which batches come next
            rows += np.column_stack([batch.targets.numpy(), images.numpy()]).tolist()
    lines = (",".join(f"{number:g}" for number in row) for row in rows)
    (run / "batches.csv").write_text("\n".join(lines) + "\n")
    print(f"trained {END} steps, loss {loss.item():.4f}: {run / 'checkpoint'}")


def iter_batches(backend: Backend):
    """Full batches, epoch after epoch."""
    loader = DataLoader(digits.load(), digits.Batcher(backend), batch_size=BATCH, shuffle=True, seed=1)
    for epoch in range(1, 100):
        for batch in loader.iter_epoch(epoch):
            if batch.targets.shape[0] == BATCH:
                yield batch


def compare(run: Path) -> None:
    ours = ModuleRecord.load(run / "checkpoint" / f"model-{END}")
    burns = ModuleRecord.load(run / "rust" / "model")
    assert ours.paths() == burns.paths()
    worst = 0.0
    for entry in ours:
        mine, other = entry.data.numpy(), burns[entry.path].data.numpy()
        assert burns[entry.path].id == entry.id
        np.testing.assert_allclose(other, mine, rtol=1e-5, atol=2e-6, err_msg=entry.path)
        worst = max(worst, float(np.abs(other - mine).max() / np.abs(mine).max()))
    mlp(NumPy(seed=0)).load_record(burns)  # and it is a model here
    print(f"Burn went from step {MIDDLE} to {END} as we did: the parameters differ by {worst:.1e} at most, relative")


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/rust")
    if "--compare" in sys.argv:
        compare(folder)
    else:
        train(folder)
