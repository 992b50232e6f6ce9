"""Two captures of the same transfers, one at each end: what happened between them.

`packets` reads a capture into arrays, `pairing` finds the connections both hold, `segments` cuts superpackets into what
was on the wire, `matching` finds each segment at the other end, `losses` judges those that are not there, `clock` sets
one clock against the other, `gaps` locates pauses, `comparison` does all of it in order; `findings` adds what the rules
of all commands say. Everything is by arrays: no
loop over packets.
"""
