"""Reading what `torch.save` wrote, without PyTorch and without executing anything.

    with_names = PytorchReader("checkpoint.pt", top_level_key="model_state_dict")
    with_names["fc.weight"].view()

A `.pt` file is a pickle, which is a program. Here it runs on a machine that can put values together and nothing else
(machine.py); what it may call is a short list (calls.py). A file that wants more is refused, by the name of what it
wanted to call.

    containers.py, tar.py   zip, legacy, tar, plain pickle: where the pickle and the storages lie
    machine.py, calls.py    the pickle, in stand-ins (objects.py)
    names.py, entries.py    named tensors, gathered from strided windows on storages

Burn: the crate `pytorch-reader`.
"""

from minburn.store.pytorch.reader import PytorchReader, PytorchStore

__all__ = ["PytorchReader", "PytorchStore"]
