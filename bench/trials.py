"""Several programs on one capture, in turns. What each run costs is `measure`'s; what comes of it, `results`'s."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.measure import Cost, ProgramError, cost_of

RUNS_AT_A_TIME = 3
"""Of one program. What a program frees, the host of a virtual machine may take back: the next program pays for each of
its pages anew, up to twice the time of its run, and only from its second or third run on for its own work alone."""


@dataclass
class Trial:
    """A program on a capture: `repeat` runs of it, on at most `cpus` processors, over `packets` packets."""

    name: str
    command: list[str]
    packets: int
    repeat: int
    cpus: int | None = None
    costs: list[Cost] = field(default_factory=list)

    @property
    def least(self) -> Cost:
        """The least of all runs, for each of the three by itself: what disturbs a run only ever adds."""
        return Cost(
            wall_s=min(cost.wall_s for cost in self.costs),
            cpu_s=min(cost.cpu_s for cost in self.costs),
            peak_bytes=min(cost.peak_bytes for cost in self.costs),
        )


def run_in_turns(trials: Sequence[Trial], *, say: Callable[[str], None]) -> None:
    """Runs each program `RUNS_AT_A_TIME` times, then each again, until all have had their runs.

    A machine's other guests come and go: so they slow down all programs, not the one whose runs they fell on. A program
    that fails has no costs.

    Raises:
        ProgramError: it is vmtrace that failed.
    """
    for turn, first in enumerate(range(0, max((trial.repeat for trial in trials), default=0), RUNS_AT_A_TIME), 1):
        for trial in [trial for trial in trials if first < trial.repeat]:
            say(f"turn {turn}: {trial.name}" + (f" on {trial.cpus} processor" if trial.cpus else ""))
            try:
                runs = min(RUNS_AT_A_TIME, trial.repeat - first)
                trial.costs += [cost_of(trial.command, cpus=trial.cpus) for _ in range(runs)]
            except ProgramError as failure:
                if trial.name == "vmtrace":
                    raise
                say(f"{failure}: its row is left out")
                trial.repeat = 0
                trial.costs.clear()
