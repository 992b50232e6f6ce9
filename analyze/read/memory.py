"""How much memory this process may have: by what the machine has, its cgroups (v1 and v2) and its limits."""

import os
import resource
from pathlib import Path

_GROUPS = (("memory", "memory.limit_in_bytes"), ("", "memory.max"))
"""Of version 1 by the name of the controller, of version 2 by none: the file with the limit."""


def half_bytes(root: Path = Path("/")) -> int:
    """What an analysis leaves the process with if nothing else is said: half of what there is.

    A process that takes much before it begins, such as a notebook, may take a quarter more.
    """
    allowed = allowed_bytes(root)
    return max(allowed // 2, taken_bytes(root) + allowed // 4)


def taken_bytes(root: Path = Path("/")) -> int:
    """What this process takes now; 0 where nothing says so."""
    line = next((line for line in _text(root / "proc/self/status").splitlines() if line.startswith("VmRSS:")), "0 0")
    return int(line.split()[1]) << 10


def allowed_bytes(root: Path = Path("/")) -> int:
    """The least of all limits. What cannot be read limits nothing."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += [soft for soft, _ in map(resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_DATA)) if soft > 0]
    return min(limits + _of_groups(root))


def _of_groups(root: Path) -> list[int]:
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, own = line.split(":", 2)
        for controller, file in _GROUPS:
            if controller not in controllers.split(","):
                continue
            top = root / "sys/fs/cgroup" / controller
            # Inside a container the group's own folder is at the top, whatever its name is outside.
            group = top / own.lstrip("/")
            folders = [folder for folder in (group, *group.parents) if folder.is_relative_to(top)]
            texts = [_text(folder / file).strip() for folder in folders]
            found += [int(text) for text in texts if text.isdecimal()]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
