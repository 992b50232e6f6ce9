"""Emulated paths between real kernels: hosts in network namespaces, a path of known behaviour, exact truth.

Owns everything that makes a transfer whose loss, delay and order are known packet by packet. Reading captures and
judging them is left to `analyze`.
"""
