"""How fast attnlab is, measured side by side with what it is compared to.

`python -m benchmarks` prints every figure, `python -m benchmarks NAME…` some of them.
"""
