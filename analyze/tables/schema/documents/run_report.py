"""The records of `vmtrace.run_report/1`."""

from typing import Annotated, Literal, TypedDict

from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds

SCHEMA = "vmtrace.run_report/1"


class FailedPair(TypedDict):
    sequence: Count
    index: str
    error: str | None


class Ping(TypedDict):
    """Round trips without load."""

    echoes: Count
    lost: Count
    min_s: Positive | None
    mean_s: Positive | None
    max_s: Positive | None


class DrawnPair(TypedDict):
    """The pair whose packets the figures show."""

    sequence: Count
    reason: str


class PlanRow(TypedDict):
    index: Annotated[str | None, "Index of the plan; null is the row over all."]
    probe_bytes: int | None
    data_bytes: int | None
    planned: Count | None
    finished: Count
    failed: Count
    transfers_with_drops: Count
    transfers_with_trouble: Count


class Estimate(TypedDict):
    """A number with its confidence interval, and the size of the sample."""

    value: float | None
    low: Annotated[float | None, "Lower end of the interval."]
    high: Annotated[float | None, "Upper end of the interval."]
    n: Annotated[Count, "Values it is made of; where runs are compared, of both together."]


class MetricsRow(TypedDict):
    index: Annotated[str | None, "Index of the plan; null is the row over all."]
    role: Literal["probe", "data"]
    transfers: Count
    mean_rtt_s: Estimate
    median_rtt_s: Estimate
    mean_loss_rate: Estimate
    median_loss_rate: Estimate
    mean_retransmission_rate: Estimate
    mean_kernel_retransmission_rate: Estimate
    mean_spacing_s: Estimate
    mean_goodput_bps: Estimate
    median_goodput_bps: Estimate
    ping: Ping
    transfers_with_drops: Count
    transfers_with_trouble: Count
    measured_at_receiver: Count


class LossBurstRow(TypedDict):
    """Whether losses lie together, over the transfers of a role with five lost segments or more."""

    role: Literal["probe", "data"]
    judgement: Literal["bursty", "even", "continuous", "undecided", "too_few"]
    transfers: Count
    losses: Count
    ratio: Annotated[Estimate, "How uneven distances between losses are, over those of independent losses."]
    p_value: Annotated[Share | None, "Of independent losses to be as uneven, or as even."]
    bursty_transfers: Annotated[Count, "Bursty by themselves, corrected for all."]
    sentence: str


class CorrelationRow(TypedDict):
    index: Annotated[str | None, "Index of the plan; null is the row over all."]
    pearson: Estimate
    spearman: Estimate


class PredictionRow(TypedDict):
    index: Annotated[str | None, "Index of the plan; null is the row over all."]
    rule: Literal["probe", "last_value", "moving_mean", "ratio"]
    mean_error: Estimate
    median_error: Estimate


class Transfer(TypedDict):
    sequence: Count
    repeat: int | None
    index: str
    pair: int | None
    role: Literal["probe", "data"]
    direction: str
    streams: int
    start_ns: int
    bytes: Count
    duration_s: Positive | None
    goodput_bps: Positive | None
    ping_mean_s: float | None
    kernel_retransmission_rate: float | None
    kernel_min_rtt_s: float | None
    congestion_control: str | None
    dropped: int | None
    trouble: str | None
    captured_at: Literal["data sender", "data receiver", "both"] | None
    connections: Count
    matched_by: Literal["address", "port"] | None
    handshake_rtt_s: Positive | None
    rtt_samples: int | None
    rtt_min_s: Positive | None
    rtt_mean_s: Positive | None
    rtt_median_s: Positive | None
    rtt_p95_s: Positive | None
    rtt_p99_s: Positive | None
    rtt_max_s: Positive | None
    data_segments: int | None
    retransmitted_segments: int | None
    retransmission_rate: Share | None
    loss_rate: Share | None
    loss_gap_losses: Count | None
    loss_gap_ratio: Positive | None
    loss_gap_chance: Share | None
    spacing_samples: int | None
    spacing_mean_s: Positive | None
    spacing_median_s: Positive | None
    spacing_p99_s: Positive | None
    spacing_max_s: Positive | None
    oversize: int | None
    oversize_time_s: Positive | None
    unwaited_samples: Count | None
    unwaited_mean_s: Positive | None
    unwaited_median_s: Positive | None
    ack_to_data_samples: Count | None
    ack_to_data_median_s: Positive | None
    window_min_bytes: int | None
    window_mean_bytes: Positive | None
    window_max_bytes: int | None
    zero_windows: int | None
    window_limited_fraction: Share | None
    flight_max_bytes: int | None
    capture_goodput_bps: Positive | None
    unseen_acked_bytes: int | None
    two_sides_problem: str | None
    two_sides_data_segments: Count | None
    two_sides_lost_segments: Count | None
    two_sides_loss_rate: Share | None
    one_way_delay_min_s: float | None
    one_way_delay_median_s: float | None
    one_way_delay_p99_s: float | None
    one_way_delay_max_s: float | None
    clock_offset_s: float | None
    clock_offset_error_s: Positive | None
    clock_skew_ppm: float | None
    clock_steps: Count | None
    gaps_at_sender: Count | None
    gaps_on_path: Count | None
    gaps_at_receiver: Count | None
    gaps_path_or_receiver: Count | None
    gaps_unlocated: Count | None
    longest_gap_s: Positive | None
    longest_gap_at: str | None
    longest_gap_reason: str | None
    verdict_factor: str | None
    verdict_share: float | None
    verdict_confidence: float | None
    verdict_sentence: str | None
    limits: str | None
    pauses_at_sender_s: Positive | None
    pauses_on_path_s: Positive | None
    pauses_at_receiver_s: Positive | None
    pauses_elsewhere_s: Positive | None
    verdict_agreement: Literal["one_side", "agree", "disagree", "one_open", "both_open"] | None


class Clock(TypedDict):
    """The receiver's clock against the sender's, by matched packets."""

    transfers: Count
    offset_s: float | None
    offset_least_s: float | None
    offset_most_s: float | None
    offset_error_s: Positive | None
    steps: Count


class StabilityRow(TypedDict):
    """Throughput of transfers, each over the median of its index."""

    index: str | None
    role: Literal["probe", "data"]
    coefficient_of_variation: Estimate
    relative_p5: float | None
    relative_p95: float | None
    judgement: Literal["steady", "unstable", "undecided", "too_few"]


class Influence(TypedDict):
    """One metric against throughput of one role's transfers."""

    role: Literal["probe", "data"]
    metric: str
    label: str
    source: Literal["packets", "ping", "host", "cloudwatch"]
    dimensions: str | None
    unit: Literal["share", "per_s", "s", "count"]
    judgement: Literal[
        "varies_with", "consistent_with", "rises_with", "not_the_cause", "undecided", "too_few", "not_measured"
    ]
    sentence: str
    transfers: Count
    least: float | None
    median: float | None
    p95: float | None
    most: float | None
    period_s: Annotated[float | None, "Of the metric's values; null for what is of the transfer itself."]
    coverage: Annotated[Share | None, "Median share of a transfer that has values."]
    weight: Annotated[Share | None, "Median share of the values' time that lies in the transfer."]
    spearman: Estimate
    pearson: Estimate
    lag_s: Annotated[float | None, "Above 0: the metric came first."]
    lags_tried: Count | None
    effective_transfers: Annotated[Positive | None, "What they are worth, neighbours in time being alike."]
    p_value: Annotated[Share | None, "Corrected for lags."]
    p_adjusted: Annotated[Share | None, "Corrected for all metrics of the role, too."]
    threshold: float | None
    transfers_beyond: Count | None
    throughput_lower: Annotated[
        Estimate, "Share by which the median of relative throughput is lower beyond the threshold."
    ]
    reason: str | None


class TwoSidesRow(TypedDict):
    """Transfers that both sides captured."""

    index: str | None
    role: Literal["probe", "data"]
    transfers: Count
    not_matched: Count
    data_segments: Count
    lost_segments: Count
    mean_loss_rate: Estimate
    median_one_way_delay_s: Estimate
    median_queueing_delay_s: Estimate
    gaps_at_sender: Count
    gaps_on_path: Count
    gaps_at_receiver: Count
    gaps_path_or_receiver: Count
    gaps_unlocated: Count


class LimitRow(TypedDict):
    role: Literal["probe", "data"]
    factor: str
    first_in: Count
    judged: Count
    time_s: Positive
    time_share: Share | None
    lost_bytes: Positive | None
    lost_share: Share | None


class FactorShare(TypedDict):
    """One factor over the transfers of a verdict."""

    factor: str
    verdict_in: Count
    verdict_time_share: Share
    time_share: Share | None
    lost_bytes: Positive | None
    lost_share: Share | None


class Evidence(TypedDict):
    """Frames that show something, of the capture named (as seen from the run folder)."""

    sequence: Count
    index: str
    role: Literal["probe", "data"]
    file: str | None
    text: str
    frames: Annotated[list[Count], bounds(maxItems=10)]
    display_filter: str


class Predicted(TypedDict):
    """What a change would bring over all transfers of a verdict."""

    change: str
    goodput_bps: Positive
    transfers: Count
    low_bps: Annotated[Positive | None, "With all transfers at the lower ends of their intervals."]
    high_bps: Annotated[Positive | None, "With all at the upper ends; null where one of them has none."]


class RoleVerdict(TypedDict):
    """The verdict on the probes, or the data transfers, of a run."""

    factor: str | None
    share: Share | None
    runner_up: str | None
    confidence: Share | None
    sentence: str
    undetermined_between: list[str]
    transfers: Count
    judged: Count
    left_open: Count
    goodput_bps: Positive | None
    factors: list[FactorShare]
    evidence: Annotated[list[Evidence], bounds(maxItems=10)]
    what_if: list[Predicted]
    reason: str | None


class FindingTransfer(TypedDict):
    """A transfer that a finding concerns."""

    sequence: Count
    role: Literal["probe", "data"]


class RunFinding(TypedDict):
    """What held transfers of the run back, the costliest first; the kinds are those of docs/findings.md."""

    kind: str
    sentence: str
    confidence: Share
    cost_s: Annotated[Positive | None, "By how much shorter the transfers would have been without it, all together."]
    share: Annotated[Share | None, "Of the time of all transfers that are long enough to judge."]
    owner: str
    evidence: Annotated[list[Evidence], bounds(maxItems=10)]
    remedy: str
    transfers: Annotated[list[FindingTransfer], "The first 20, the costliest first.", bounds(maxItems=20)]
    transfers_count: Count


class RunVerdictByRole(TypedDict):
    """The same over probes and over data transfers."""

    probe: RoleVerdict
    data: RoleVerdict


class RunVerdict(RoleVerdict):
    """The verdict on a run, over all its transfers."""

    by_role: Annotated[RunVerdictByRole, "The same over probes and over data transfers."]


class PairVerdictFactors(TypedDict):
    """A factor's share of the shortfall of both transfers."""

    factor: str
    lost_share: Share


class PairVerdictWhatIf(TypedDict):
    """What a change would bring to the transfer."""

    change: str
    goodput_bps: Positive


class PairVerdict(TypedDict):
    """The verdict on a pair; `factor` and what belongs to it are the data transfer's, if it has any."""

    sequence: Count
    index: str
    factor: str | None
    share: Share | None
    runner_up: str | None
    confidence: Share | None
    sentence: str
    undetermined_between: list[str]
    agreement: Literal["one_side", "agree", "disagree", "one_open", "both_open"] | None
    decided_by: str | None
    probe_factor: str | None
    probe_confidence: Share | None
    limited_alike: bool | None
    factors: list[PairVerdictFactors]
    evidence: Annotated[list[Evidence], bounds(maxItems=10)]
    what_if: list[PairVerdictWhatIf]
    reason: str | None


class LimitInfluence(TypedDict):
    """One metric inside the intervals of one factor against the rest of the transfers' time."""

    factor: str
    metric: str
    label: str
    source: Literal["packets", "ping", "host", "cloudwatch"]
    dimensions: str | None
    unit: Literal["share", "per_s", "s", "count"]
    judgement: Literal[
        "varies_with", "consistent_with", "rises_with", "not_the_cause", "undecided", "too_few", "not_measured"
    ]
    sentence: str
    intervals: Count
    transfers: Count
    periods: Count
    inside: float | None
    outside: float | None
    difference: Estimate
    p95_inside: float | None
    period_s: Annotated[float | None, "Of the metric's values; null for what is of the transfer itself."]
    coverage: Annotated[Share | None, "Median share of a transfer that has values."]
    weight: Annotated[Share | None, "Median share of the values' time that lies in the transfer."]
    spearman: Estimate
    lag_s: Annotated[float | None, "Above 0: the metric came first."]
    lags_tried: Count | None
    effective_transfers: float | None
    p_value: Annotated[Share | None, "Corrected for lags."]
    p_adjusted: Annotated[Share | None, "Corrected for all metrics of the role, too."]
    reason: str | None


class Run(TypedDict):
    path: str
    name: str
    id: str | None
    status: str
    error: str | None
    plan: str | None
    scale: float | None
    start_ns: int | None
    end_ns: int | None
    failed_attempts: Count
    problems: list[str]
    failed_pairs: list[FailedPair]
    ping: Ping
    drawn_pair: DrawnPair
    table_1: list[PlanRow]
    table_2: list[MetricsRow]
    loss_bursts: list[LossBurstRow]
    correlation: list[CorrelationRow]
    prediction: list[PredictionRow]
    transfers: list[Transfer]
    clock: Clock
    stability: list[StabilityRow]
    influences: list[Influence]
    two_sides: list[TwoSidesRow]
    limits: list[LimitRow]
    findings: Annotated[list[RunFinding], bounds(maxItems=20)]
    verdict: RunVerdict
    pair_verdicts: list[PairVerdict]
    limit_influences: list[LimitInfluence]


class VerdictChangeFactors(TypedDict):
    """Over all indices that both have."""

    role: Literal["probe", "data"]
    factor: str
    difference: Estimate
    p_adjusted: Share | None
    change: Literal["higher", "lower"] | None


class VerdictChange(TypedDict):
    """The verdicts of two runs, and each factor's share of a transfer's time in one against the other."""

    before: str
    after: str
    factor_before: str | None
    factor_after: str | None
    changed: bool | None
    sentence: str
    factors: list[VerdictChangeFactors]


class Document(TypedDict):
    """What `vmtrace report --json` writes. Names end in their unit: _s seconds, _ns Unix nanoseconds, _bytes, _bps
    bits per second; rates and errors are shares. A number that could not be measured is null, never 0. Within
    version 1 keys are only added.
    """

    schema: Literal["vmtrace.run_report/1"]
    vmtrace: str
    confidence: Annotated[float, bounds(exclusiveMinimum=0, exclusiveMaximum=1), "Of all intervals."]
    runs: list[Run]
    verdict_changes: Annotated[list[VerdictChange], "Every run against the first one; empty for one run."]
