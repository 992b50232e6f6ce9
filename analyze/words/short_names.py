"""Files by the shortest names that tell them apart."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath


def short_names(paths: Sequence[str]) -> list[str]:
    """For each path its last parts: the name alone, or with as many folders as it takes to be the only one."""
    parts = [PurePath(path).parts or (path,) for path in paths]
    lengths = [1] * len(paths)
    for _ in range(max(map(len, parts), default=0)):
        names = ["/".join(one[-length:]) for one, length in zip(parts, lengths, strict=True)]
        counted = Counter(names)
        if max(counted.values(), default=0) <= 1:
            break
        lengths = [length + (counted[name] > 1) for length, name in zip(lengths, names, strict=True)]
    return ["/".join(one[-length:]).removeprefix("//") for one, length in zip(parts, lengths, strict=True)]
