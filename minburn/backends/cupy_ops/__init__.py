"""What differs on CUDA from the array implementation, and the kernels that do many small steps in one launch.

Nothing here is imported before the first `CuPy(...)`. A step on a GPU is bound by how many kernels are launched and by
what makes the host wait, so three rules hold for every op:

    one launch where there is one formula     kernels.py: elementwise formulas, and kernels of one block per row
    the host never waits                      no `if array:`, no float(array); wrong indices are noted by the kernel
                                              and reported when somebody waits anyway (refusals.py)
    it can be recorded                        what changes from step to step is no number in a launch and no copy from
                                              the host, but asked of the recorder, if there is one (capture.py)

The inherited, unfused ops of `backends/array` say what each kernel must compute; tests compare the two.
"""
