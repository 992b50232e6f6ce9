"""Reports on runs of `vmtrace swarm run` (docs/swarm.md): bytes of each source by packets and by the client's counters.

Reads run folders as plain files; what made them is no business of this room.
"""
