"""09 - Fine-tuning.

A network learns to read digits from plenty of pictures. Then comes another question: what is missing to nine? And of
this one there are only two pictures for each answer. What the network knows already should help: we load its record
into a model with another head, freeze what was loaded, and train the head alone. The yardstick is the same model,
trained on the same twenty pictures from nothing.

    python examples/09_fine_tune.py
"""

from pathlib import Path

import numpy as np

from minburn import FloatTensor, IntTensor, Module, ModuleRecord
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import digits
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig, Relu
from minburn.optim import AdamConfig, GradientsParams

PER_DIGIT = 2


class Classifier(Module):
    """Pictures [N, 8, 8] → logits [N, 10]. The body is `first` and `second`; the head has the name of its task."""

    first: Linear
    second: Linear
    heads: dict[str, Linear]

    def forward(self, images: FloatTensor) -> FloatTensor:
        features = Relu()(self.second(Relu()(self.first(images.flatten(1, 2)))))
        (head,) = self.heads.values()
        return head(features)


def classifier(task: str, backend: Backend) -> Classifier:
    return Classifier(
        first=LinearConfig(64, 128).init(backend),
        second=LinearConfig(128, 64).init(backend),
        heads={task: LinearConfig(64, 10).init(backend)},
    )


def train(model: Classifier, images: FloatTensor, targets: IntTensor, steps: int) -> Classifier:
    optim = AdamConfig().init()
    for _ in range(steps):
        loss = CrossEntropyLoss()(model(images), targets)
        model = optim.step(2e-3, model, GradientsParams.from_grads(loss.backward(), model))
    return model


def accuracy(model: Classifier, images: FloatTensor, targets: IntTensor) -> float:
    guesses = model.valid()(images).argmax(1).numpy().ravel()
    return 100.0 * float((guesses == targets.numpy()).mean())


backend = Autodiff(NumPy(seed=9))
train_set, valid_set = digits.split(valid=0.2, seed=9)
many = digits.Batcher(backend).batch(list(train_set))
unseen = digits.Batcher(backend.inner).batch(list(valid_set))

# The long training, on many pictures, and what it leaves on disk.
reader = train(classifier("digit", backend), many.images, many.targets, steps=150)
print(f"which digit?  {accuracy(reader, unseen.images, unseen.targets):.1f} % are read, from {len(many)} pictures")
path = Path("runs/fine-tune/reader.bpk")
path.parent.mkdir(parents=True, exist_ok=True)
reader.into_record().save(path)
print("its record:", *ModuleRecord.load(path).paths())

# The model for the other question has another head. A record that does not fit exactly is refused, in words that name
# everything that is wrong at once: most of the time it is a slip. Here it is what we want, so we say so.
fresh = classifier("to_nine", backend)
record = ModuleRecord.load(path)
try:
    fresh.load_record(record)
except ValueError as error:
    print("refused:", error)
loaded = fresh.load_record(record.allow_partial().allow_unused())

# Freeze the body. A frozen parameter has no gradient, and an optimizer leaves alone what has none. Like everything
# here, `freeze` returns another module, and `replace` puts it in place.
frozen = loaded.replace(first=loaded.first.freeze(), second=loaded.second.freeze())

few = [item for digit in range(10) for item in [item for item in train_set if item.label == digit][:PER_DIGIT]]
examples = digits.Batcher(backend).batch(few)
tuned = train(frozen, examples.images, 9 - examples.targets, steps=150)
scratch = train(fresh, examples.images, 9 - examples.targets, steps=150)
tuned_accuracy = accuracy(tuned, unseen.images, 9 - unseen.targets)
scratch_accuracy = accuracy(scratch, unseen.images, 9 - unseen.targets)
print(f"what is missing to nine?  from {len(few)} pictures, asked about {len(unseen)} others:")
print(f"  a head on the frozen body  {tuned_accuracy:.1f} %")
print(f"  everything from nothing    {scratch_accuracy:.1f} %")

# The claims of this lesson.
for name in ("first", "second"):
    before, after = getattr(reader, name).weight, getattr(tuned, name).weight
    assert before.id == after.id, "a loaded parameter is the one that was saved, so it has its id"
    assert np.array_equal(before.value.numpy(), after.value.numpy()), f"{name} was frozen but has changed"
assert tuned_accuracy > scratch_accuracy + 8.0, "what was learned before should help more"
assert tuned.unfreeze().first.weight.is_require_grad, "unfreeze() makes everything trainable again"
print("The frozen body stayed as it was, to the bit, and what it knows helped.")
