"""The plans that are built in."""

from __future__ import annotations

from vmtrace.sender.plan import Entry, Plan, TransferPlan

_KB = 1024
_MB = 1024 * 1024

LEE2011 = Plan(
    name="lee2011",
    entries=tuple(
        Entry(f"I_{number}", 3, TransferPlan(probe_kb * _KB), TransferPlan(data_mb * _MB))
        # Probe size [KB] and data size [MB] of Table 1; in the paper, too, I_7 and I_8 are the same.
        for number, (probe_kb, data_mb) in enumerate(
            ((16, 8), (16, 16), (32, 16), (64, 16), (64, 32), (512, 8), (512, 16), (1024, 16), (1024, 16), (2048, 32))
        )
    ),
)
"""Table 1 of Lee et al., "Internet Traffic Characteristics of Virtual Machine on Amazon EC2": three pairs of each size.

The paper names no idle time between pairs, so there is none.
"""

BUILT_IN: dict[str, Plan] = {LEE2011.name: LEE2011}
