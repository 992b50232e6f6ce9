"""What an interface or an instance may send: published bandwidths, and what a capture shows of them.

`published` looks instance types up in `ec2_bandwidth.csv`, `rate` reads rates that people write, `findings` compares.
"""
