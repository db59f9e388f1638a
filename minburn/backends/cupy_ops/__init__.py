"""What differs on CUDA from the array implementation, and the kernels that do many small steps in one launch.

Nothing here is imported before the first `CuPy(...)`. A step on a GPU is bound by how many kernels are launched and by
what makes the host wait, so two rules hold for every op:

    one launch where there is one formula     kernels.py: elementwise formulas, and kernels of one block per row
    the host never waits                      no `if array:`, no float(array); wrong indices are noted by the kernel
                                              and reported when somebody waits anyway (refusals.py)

The inherited, unfused ops of `backends/array` say what each kernel must compute; tests compare the two.
"""
