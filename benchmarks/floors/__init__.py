"""The floor: one training step per workload, written by hand in NumPy, with nothing left to save.

A floor allocates nothing that is large: its arrays are made once and begin at a cache line, every operation writes into
one of them, parameters and gradients lie in one flat array each, and Adam runs over these in blocks that stay in the
cache. It does the same arithmetic as the framework, op by op (a bias is added before the pooling, not after it), and
starts from the same weights, so that both sides must agree on their losses.

    arrays.py   memory, Adam, softmax cross-entropy        cnn.py   convolutions with the batch innermost
    mlp.py      the two perceptrons                         gpt.py   a small GPT, all of attention written out
    lstm.py     an LSTM, all four gates of a step at once

A step takes no arguments (it goes through the given batches in turn) and returns the loss before its update.
"""
