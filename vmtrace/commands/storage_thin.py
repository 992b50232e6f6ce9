def share_of(text: str) -> float:
    return 0.01


def thin_in_background(run, path, share) -> None: ...
