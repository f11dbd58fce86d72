# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_types.py from docs/reference/json.
"""Types of the attributes of results. They exist for type checkers and editors only."""

from typing import Generic, TypeVar

from stepscope.records import Record

V = TypeVar("V")

class Map(Record, Generic[V]):
    """An object whose keys are data: map["key"] or map.key."""

    def __getitem__(self, key: str) -> V: ...  # type: ignore[override]
    def __getattr__(self, name: str) -> V: ...

class AnalysisAnswerVerdictClockReasons(Record):
    reason: str | None
    share: float | None
    peers_share: float | None

class AnalysisAnswerVerdictClock(Record):
    verdict: str | None
    sm_clock_mhz: float | None
    peers_sm_clock_mhz: float | None
    peers: object
    reasons: list[AnalysisAnswerVerdictClockReasons]
    power_watts: float | None
    peers_power_watts: float | None
    temperature_celsius: float | None
    peers_temperature_celsius: float | None
    sentence: str | None

class AnalysisAnswerVerdictAlternativesClockReasons(Record):
    reason: str | None
    share: float | None
    peers_share: float | None

class AnalysisAnswerVerdictAlternativesClock(Record):
    verdict: str | None
    sm_clock_mhz: float | None
    peers_sm_clock_mhz: float | None
    peers: object
    reasons: list[AnalysisAnswerVerdictAlternativesClockReasons]
    power_watts: float | None
    peers_power_watts: float | None
    temperature_celsius: float | None
    peers_temperature_celsius: float | None
    sentence: str | None

class AnalysisAnswerVerdictAlternatives(Record):
    kind: str
    ranks: list[int]
    group: object
    dim: object
    stage: int | None
    steps: list[int]
    gain_ns: int
    gain: float
    share: float
    confidence: str
    sentence: str
    clock: AnalysisAnswerVerdictAlternativesClock | None
    change: str

class AnalysisAnswerVerdict(Record):
    kind: str
    ranks: list[int]
    group: object
    dim: object
    stage: int | None
    steps: list[object]
    gain_ns: int
    gain: float
    share: float
    confidence: str
    sentence: str
    clock: AnalysisAnswerVerdictClock | None
    change: str | None
    alternatives: list[AnalysisAnswerVerdictAlternatives]

class AnalysisAnswer(Record):
    bound_by: str
    sentence: str
    culprit: str
    remedy: str | None
    command: str | None
    verdict: AnalysisAnswerVerdict

class AnalysisInputs(Record):
    path: str
    format: str
    rank: int
    clock: str
    bytes: int
    text_bytes: int
    events: int
    truncated: bool
    cut_at: object
    notes: Map[int]
    error: object

class AnalysisRecordingLacks(Record):
    fact: str
    what: str
    record: str
    findings: list[str]

class AnalysisRecordingRanksSteps(Record):
    index: int
    launches: int
    lost_launches: int
    device_rows: int

class AnalysisRecordingRanksStartUpSpans(Record):
    kind: str | None
    what: str | None
    start_ns: float | None
    start: float | None
    ns: float | None

class AnalysisRecordingRanksStartUp(Record):
    total_ns: int
    total: float
    idle_ns: int
    idle: float
    spans: list[AnalysisRecordingRanksStartUpSpans]

class AnalysisRecordingRanks(Record):
    rank: int
    format: str
    clock: str
    rows: Map[int]
    launches: int
    lost_launches: int
    queued_launches: int
    device_rows: int
    loose_rows: int
    early_rows: int
    graph_launches: int
    graph_rows: int
    outside_rows: int
    overlapping_rows: int
    shaped_operators: int
    memory_events: int
    collectives: int
    in_named_groups: int
    messages: int
    addressed_messages: int
    stepping_processes: int
    lost_steps: list[object]
    steps: list[AnalysisRecordingRanksSteps]
    start_up: AnalysisRecordingRanksStartUp
    notes: Map[int]

class AnalysisRecording(Record):
    lacks: list[AnalysisRecordingLacks]
    ranks: list[AnalysisRecordingRanks]

class AnalysisJobSteps(Record):
    index: int
    wall_ns: int
    wall: float
    counted_ns: int | None
    counted: float | None
    start_ns: int
    start: float
    ranks: list[int]

class AnalysisJobMissingSteps(Record):
    rank: int | None
    index: int | None

class AnalysisJobCutSteps(Record):
    rank: int | None
    steps: list[object]
    window: object
    whole: object

class AnalysisJobBudgetPerDayItem(Record):
    gpu_hours_per_day: float
    money_per_day: float | None

class AnalysisJobSpreadItem(Record):
    mean_ns: float
    mean: float
    worst_ns: float
    worst: float
    worst_rank: int
    stdev_ns: float | None
    stdev: float | None
    least_ns: float
    least: float

class AnalysisJob(Record):
    ranks: int
    world_size: int | None
    clocks_comparable: bool
    clock_uncertainty_ns: int | None
    clock_uncertainty: float | None
    steps: list[AnalysisJobSteps]
    missing_steps: list[AnalysisJobMissingSteps]
    cut_steps: list[AnalysisJobCutSteps]
    step_mean_ns: float | None
    step_mean: float | None
    step_min_ns: float | None
    step_min: float | None
    step_max_ns: float | None
    step_max: float | None
    step_stdev_ns: float | None
    step_stdev: float | None
    budget_ns: Map[int]
    budget: dict[str, float]
    budget_per_day: Map[AnalysisJobBudgetPerDayItem]
    spread: Map[AnalysisJobSpreadItem]
    phases: list[Map[float | str | None]]

class AnalysisRates(Record):
    achieved_tflops_per_device: float | None
    achieved_is_least: bool
    peak_tflops_per_device: float | None
    overlap_efficiency: float | None
    collective: str | None
    group: str | None
    busbw_gb_per_s: float | None
    link_share: float | None

class AnalysisGroupsRates(Record):
    name: str
    bytes: int
    count: int
    transfer_ns: int
    transfer: float
    busbw_gb_per_s: float
    of_siblings: float | None

class AnalysisGroups(Record):
    name: str
    description: str | None
    dimension: str
    size: int | None
    ranks: list[int]
    rates: list[AnalysisGroupsRates]

class AnalysisCollectiveMismatches(Record):
    group: object
    ordinal: object
    ranks: list[object]
    what: str | None

class AnalysisDimensions(Record):
    dimension: str
    count: int
    bytes: int | None
    wait_ns: int
    wait: float
    transfer_ns: int
    transfer: float
    exposed_ns: int
    exposed: float
    step_share: float | None

class AnalysisDdpBuckets(Record):
    rank: int
    step: int
    bucket: int
    bytes: int
    ready_ns: int
    ready: float
    launched_ns: int
    launched: float
    done_ns: int
    done: float
    exposed_ns: int
    exposed: float

class AnalysisDdpBucketSums(Record):
    bucket: int
    count: int
    bytes: int
    mean_ns: int
    mean: float
    total_ns: int
    total: float
    mean_exposed_ns: int
    mean_exposed: float

class AnalysisUnitWaitsUnits(Record):
    unit: str
    fetches: int
    hits: int
    late: int
    misses: int
    late_ns: int
    transfer_ns: int
    transfer: float
    ahead: int
    hidden_by: int | None

class AnalysisUnitWaitsReductions(Record):
    unit: str
    count: int
    exposed_ns: int
    exposed: float
    lag_ns: int
    lag: float

class AnalysisUnitWaitsFetches(Record):
    rank: int
    step: int
    unit: str
    issued_ns: int
    issued: float
    needed_ns: int
    needed: float
    arrived_ns: int
    arrived: float
    transfer_ns: int
    transfer: float
    late_ns: int
    late: float
    verdict: str
    ahead: int
    hidden_by: int | None

class AnalysisUnitWaitsReduces(Record):
    rank: int
    step: int
    unit: str
    ready_ns: int
    ready: float
    launched_ns: int
    launched: float
    done_ns: int
    done: float
    exposed_ns: int
    exposed: float

class AnalysisUnitWaits(Record):
    source: str
    sentence: str | None
    units: list[AnalysisUnitWaitsUnits]
    reductions: list[AnalysisUnitWaitsReductions]
    fetches: list[AnalysisUnitWaitsFetches]
    reduces: list[AnalysisUnitWaitsReduces]

class AnalysisPipelineRanksFillNs(Record):
    idle: int
    message: int
    wait: int

class AnalysisPipelineRanksBetweenNs(Record):
    idle: int
    message: int
    wait: int

class AnalysisPipelineRanksDrainNs(Record):
    idle: int
    message: int
    wait: int

class AnalysisPipelineRanksDueToNs(Record):
    schedule: int
    imbalance: int
    links: int
    rest: int

class AnalysisPipelineRanksSteps(Record):
    index: int
    start_ns: int
    start: float
    wall_ns: int
    wall: float
    work_ns: int
    work: float
    fill_ns: int
    fill: float
    between_ns: int
    between: float
    drain_ns: int
    drain: float

class AnalysisPipelineRanks(Record):
    rank: int
    pipeline: int
    stage: int
    wall_ns: int
    wall: float
    work_ns: int
    work: float
    passes_ns: int
    passes: float
    bubble_ns: int
    bubble: float
    fill_ns: AnalysisPipelineRanksFillNs
    fill: AnalysisPipelineRanksFillNs
    between_ns: AnalysisPipelineRanksBetweenNs
    between: AnalysisPipelineRanksBetweenNs
    drain_ns: AnalysisPipelineRanksDrainNs
    drain: AnalysisPipelineRanksDrainNs
    due_to_ns: AnalysisPipelineRanksDueToNs
    due_to: AnalysisPipelineRanksDueToNs
    steps: list[AnalysisPipelineRanksSteps]

class AnalysisPipeline(Record):
    stages: int
    micro_batches: int | None
    chunks: int | None
    schedule: str
    schedule_share: float | None
    efficiency: float | None
    even_efficiency: float | None
    missing_stages: list[object]
    ranks: list[AnalysisPipelineRanks]

class AnalysisClockAlignmentHosts(Record):
    host: object
    ranks: list[int]
    offset_ns: int | None
    offset: float | None
    drift_ppm: float
    uncertainty_ns: int | None
    uncertainty: float | None

class AnalysisClockAlignment(Record):
    applied: bool
    reason: str
    collectives: int
    spread_ns: int | None
    spread: float | None
    spread_aligned_ns: int | None
    spread_aligned: float | None
    hosts: list[AnalysisClockAlignmentHosts]

class AnalysisLinkFitsPieces(Record):
    from_bytes: float | None
    to_bytes: float | None
    sizes: object
    calls: int | None
    start_ns: float | None
    start: float | None
    start_interval_ns: list[float]
    start_interval: list[float]
    gb_per_s: float | None
    interval_gb_per_s: list[float]

class AnalysisLinkFitsPoints(Record):
    bytes: int
    transfer_ns: float
    transfer: float
    fitted_ns: float | None
    fitted: float | None

class AnalysisLinkFits(Record):
    name: str
    group_size: int
    placement: str
    calls: int
    sizes: int
    refused: str
    mean_error: float | None
    max_error: float | None
    r_squared: float | None
    from_bytes: float | None
    to_bytes: float | None
    pieces: list[AnalysisLinkFitsPieces]
    points: list[AnalysisLinkFitsPoints]

class AnalysisGpuReadingsLogs(Record):
    path: str | None
    format: str | None
    gpus: object
    readings: object
    ranks: list[object]
    zone_ns: float | None
    zone: float | None
    zone_source: object
    notes: Map[int]
    problem: object

class AnalysisGpuReadingsRanksWholeSmClockMhz(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksWholeMemoryClockMhz(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksWholePowerWatts(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksWholeTemperatureCelsius(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksWholeReasons(Record):
    idle: int | None
    applications_clocks: object
    sw_power_cap: object
    hw_slowdown: object
    sync_boost: object
    sw_thermal_slowdown: object
    hw_thermal_slowdown: object
    hw_power_brake: object
    display_clocks: object

class AnalysisGpuReadingsRanksWhole(Record):
    readings: object
    covered: object
    sm_clock_mhz: AnalysisGpuReadingsRanksWholeSmClockMhz
    memory_clock_mhz: AnalysisGpuReadingsRanksWholeMemoryClockMhz
    power_watts: AnalysisGpuReadingsRanksWholePowerWatts
    temperature_celsius: AnalysisGpuReadingsRanksWholeTemperatureCelsius
    utilization: object
    sm_active: float | None
    tensor_active: float | None
    dram_active: float | None
    reasons: AnalysisGpuReadingsRanksWholeReasons

class AnalysisGpuReadingsRanksStepsSmClockMhz(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksStepsMemoryClockMhz(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksStepsPowerWatts(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksStepsTemperatureCelsius(Record):
    mean: object
    min: object
    max: object

class AnalysisGpuReadingsRanksStepsReasons(Record):
    idle: int | None
    applications_clocks: object
    sw_power_cap: object
    hw_slowdown: object
    sync_boost: object
    sw_thermal_slowdown: object
    hw_thermal_slowdown: object
    hw_power_brake: object
    display_clocks: object

class AnalysisGpuReadingsRanksSteps(Record):
    index: int | None
    readings: object
    covered: object
    sm_clock_mhz: AnalysisGpuReadingsRanksStepsSmClockMhz
    memory_clock_mhz: AnalysisGpuReadingsRanksStepsMemoryClockMhz
    power_watts: AnalysisGpuReadingsRanksStepsPowerWatts
    temperature_celsius: AnalysisGpuReadingsRanksStepsTemperatureCelsius
    utilization: object
    sm_active: float | None
    tensor_active: float | None
    dram_active: float | None
    reasons: AnalysisGpuReadingsRanksStepsReasons

class AnalysisGpuReadingsRanks(Record):
    rank: int | None
    log: object
    gpu: object
    uuid: object
    matched_by: object
    max_sm_clock_mhz: float | None
    power_limit_watts: float | None
    whole: AnalysisGpuReadingsRanksWhole
    steps: list[AnalysisGpuReadingsRanksSteps]

class AnalysisGpuReadings(Record):
    logs: list[AnalysisGpuReadingsLogs]
    ranks: list[AnalysisGpuReadingsRanks]

class AnalysisCountersRanksWhole(Record):
    samples: object
    tensor_active: float | None
    sm_active: float | None
    dram_read_share: float | None
    dram_write_share: float | None
    dram_read_gb_per_s: float | None
    dram_write_gb_per_s: float | None
    sm_clock_mhz: float | None

class AnalysisCountersRanksSteps(Record):
    index: int | None
    samples: object
    tensor_active: float | None
    sm_active: float | None
    dram_read_share: float | None
    dram_write_share: float | None
    dram_read_gb_per_s: float | None
    dram_write_gb_per_s: float | None
    sm_clock_mhz: float | None

class AnalysisCountersRanksKernels(Record):
    name: str | None
    profiled: object
    tensor_active: float | None
    tensor_instructions: object
    sm_share: float | None
    dram_share: float | None
    dram_read_bytes: float | None
    dram_write_bytes: float | None
    dram_read_gb_per_s: float | None
    dram_write_gb_per_s: float | None
    l2_hit_rate: float | None
    l1_hit_rate: float | None
    fp32_flops: float | None
    fp64_flops: float | None

class AnalysisCountersRanks(Record):
    rank: int | None
    whole: AnalysisCountersRanksWhole
    steps: list[AnalysisCountersRanksSteps]
    kernels: list[AnalysisCountersRanksKernels]

class AnalysisCountersAbsent(Record):
    figure: str
    record: str

class AnalysisCounters(Record):
    ranks: list[AnalysisCountersRanks]
    absent: list[AnalysisCountersAbsent]

class AnalysisMfuConventions(Record):
    name: str
    model_flops_per_step: float
    mfu: float

class AnalysisMfuTerms(Record):
    name: str
    ns: int
    percent: float
    gpu_hours_per_day: float
    money_per_day: float | None

class AnalysisMfu(Record):
    convention: str | None
    peak_flops: float
    peak_source: str
    model_flops_per_step: float | None
    executed_flops_per_step: float | None
    mfu: float | None
    hfu: float | None
    conventions: list[AnalysisMfuConventions]
    step_ns: int
    step: float
    contention_ns: float | None
    contention: float | None
    terms: list[AnalysisMfuTerms]
    warnings: list[str]

class AnalysisExpectedStepPointwise(Record):
    expected_ns: float | None
    expected: float | None
    measured_ns: float | None
    measured: float | None
    ratio: float | None
    gap_ns: float | None
    gap: float | None

class AnalysisExpectedStepClasses(Record):
    expected_ns: float | None
    expected: float | None
    recompute_ns: float | None
    recompute: float | None
    measured_ns: float | None
    measured: float | None
    ratio: float | None
    gap_ns: float | None
    gap: float | None

class AnalysisExpectedStepRanks(Record):
    rank: int | None
    measured_ns: Map[float]
    measured: dict[str, float]

class AnalysisExpectedStep(Record):
    model: str | None
    plan: Map[object]
    plan_words: object
    expected_ns: float | None
    expected: float | None
    measured_ns: float | None
    measured: float | None
    pointwise: AnalysisExpectedStepPointwise
    classes: list[AnalysisExpectedStepClasses]
    ranks: list[AnalysisExpectedStepRanks]

class AnalysisExpectedRanksClasses(Record):
    expected_ns: float
    expected: float
    measured_ns: float
    measured: float
    ratio: float
    unknown_ns: float
    unknown: float

class AnalysisExpectedRanksOperators(Record):
    name: str
    shape: str
    dtype: str
    calls: int
    expected_ns: float
    expected: float
    measured_ns: float
    measured: float
    ratio: float

class AnalysisExpectedRanks(Record):
    rank: int
    classes: list[AnalysisExpectedRanksClasses]
    operators: list[AnalysisExpectedRanksOperators]

class AnalysisExpectedCollectives(Record):
    name: str
    dimension: str
    group: str
    group_size: int
    bytes: int
    calls: int
    expected_ns: float
    expected: float
    measured_ns: float
    measured: float
    ratio: float
    with_wait: bool

class AnalysisExpected(Record):
    machine: str
    sentences: list[str]
    step: AnalysisExpectedStep | None
    ranks: list[AnalysisExpectedRanks]
    collectives: list[AnalysisExpectedCollectives]
    assumptions: list[str]

class AnalysisExplanationGraph(Record):
    nodes: int
    edges: int
    joined_calls: int
    unjoined_calls: int
    removed_edges: int
    negative_delays: int

class AnalysisExplanationCriticalPathShares(Record):
    rank: int
    what: str
    phase: str
    ns: int
    percent: float

class AnalysisExplanationCriticalPathLongest(Record):
    rank: int
    what: str
    name: str | None
    start_ns: int
    start: float
    ns: int

class AnalysisExplanationCriticalPathHops(Record):
    to: int
    count: int

class AnalysisExplanationCriticalPathRanks(Record):
    rank: int
    on_path_ns: int
    on_path: float
    slack_ns: int
    slack: float

class AnalysisExplanationCriticalPath(Record):
    length_ns: int
    length: float
    steps: int
    residual_ns: int
    residual: float
    unlaunched_ns: int
    unlaunched: float
    not_recorded_ns: int
    not_recorded: float
    unjoined_ns: int
    unjoined: float
    nodes: int
    shares: list[AnalysisExplanationCriticalPathShares]
    longest: list[AnalysisExplanationCriticalPathLongest]
    hops: list[AnalysisExplanationCriticalPathHops]
    ranks: list[AnalysisExplanationCriticalPathRanks]

class AnalysisExplanationBlame(Record):
    rank: int
    what: str
    name: str
    excess: bool
    wait_ns: int
    wait: float
    collectives: int
    worst_ns: int
    worst: float
    worst_at_ns: int
    worst_at: float

class AnalysisExplanationScenarios(Record):
    name: str
    words: str
    step_ns: int
    step: float
    shortest_step_ns: float | None
    shortest_step: float | None
    saved_ns: int
    saved: float
    speedup: float
    remove: float | None
    add: float | None
    nodes: int
    doubted: bool
    refused: object
    notes: list[str]

class AnalysisExplanation(Record):
    baseline_ns: int
    baseline: float
    replay_error: float | None
    step_variation: float | None
    held_out_steps: int
    fulfilled: float | None
    gain_error_ns: int
    gain_error: float
    unexplained_share: float
    refused: bool
    residual_share: float
    graph: AnalysisExplanationGraph
    critical_path: AnalysisExplanationCriticalPath
    blame: list[AnalysisExplanationBlame]
    scenarios: list[AnalysisExplanationScenarios]

class AnalysisTermsItemItem(Record):
    label: str
    brief: str
    explanation: str | None
    unit: str | None

class AnalysisAttributes:
    schema: str
    version: str
    origin_unix_ns: str
    origin_unix: str
    answer: AnalysisAnswer
    inputs: list[AnalysisInputs]
    warnings: list[str]
    recording: AnalysisRecording
    job: AnalysisJob
    rates: AnalysisRates
    groups: list[AnalysisGroups]
    collective_mismatches: list[AnalysisCollectiveMismatches]
    dimensions: list[AnalysisDimensions]
    ddp_buckets: list[AnalysisDdpBuckets]
    ddp_bucket_sums: list[AnalysisDdpBucketSums]
    unit_waits: AnalysisUnitWaits | None
    pipeline: AnalysisPipeline | None
    clock_alignment: AnalysisClockAlignment
    link_fits: list[AnalysisLinkFits]
    gpu_readings: AnalysisGpuReadings | None
    counters: AnalysisCounters
    mfu: AnalysisMfu | None
    expected: AnalysisExpected | None
    explanation: AnalysisExplanation | None
    short_names: Map[str]
    terms: Map[Map[AnalysisTermsItemItem]]

class WhatIfInputs(Record):
    path: str
    format: str
    rank: int
    clock: str
    bytes: int
    text_bytes: int
    events: int
    truncated: bool
    cut_at: object
    notes: Map[int]
    error: object

class WhatIfGraph(Record):
    nodes: int
    edges: int
    joined_calls: int
    unjoined_calls: int
    removed_edges: int
    negative_delays: int

class WhatIfAttributes:
    schema: str
    version: str
    inputs: list[WhatIfInputs]
    baseline_ns: int
    baseline: float
    replay_error: float | None
    step_variation: float | None
    held_out_steps: int
    fulfilled: float | None
    gain_error_ns: int
    gain_error: float
    unexplained_share: float
    residual_share: float
    refused: bool
    graph: WhatIfGraph
    warnings: list[str]

class ProjectionInputs(Record):
    path: str
    format: str
    rank: int
    clock: str
    bytes: int
    text_bytes: int
    events: int
    truncated: bool
    cut_at: object
    notes: Map[int]
    error: object

class ProjectionAnswer(Record):
    sentence: str

class ProjectionRecorded(Record):
    devices: int
    dp: int
    tp: int
    cp: int
    ep: int
    pp: int
    micro_batches: int
    micro_batch: int

class ProjectionProjected(Record):
    devices: int
    dp: int
    tp: int
    cp: int
    ep: int
    pp: int
    micro_batches: int
    micro_batch: int

class ProjectionStep(Record):
    ns: float
    low_ns: float
    low: float
    high_ns: float
    high: float

class ProjectionAttributes:
    schema: str
    version: str
    inputs: list[ProjectionInputs]
    answer: ProjectionAnswer
    recorded: ProjectionRecorded
    recorded_step_ns: float
    recorded_step: float
    projected: ProjectionProjected
    step: ProjectionStep
    replay_error: float | None
    warnings: list[str]

class ComparisonAnswer(Record):
    sentence: str

class ComparisonALaunchesChanges(Record):
    step: int | None
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None

class ComparisonALaunches(Record):
    name: str
    source: str
    steps: int
    warm_up: int
    unsettled: bool
    changes: list[ComparisonALaunchesChanges]
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    sorted_ns: list[int]
    sorted: list[float]

class ComparisonAOutliers(Record):
    cause: str | None
    count: int | None
    median_ns: float | None
    median: float | None
    extra_ns: float | None
    extra: float | None
    every: object

class ComparisonA(Record):
    label: str
    steps: int
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    stdev_ns: float
    stdev: float
    p95_ns: float
    p95: float
    tokens_per_s: float | None
    n_eff: float
    correlation_time: float
    launches: list[ComparisonALaunches]
    outliers: list[ComparisonAOutliers]

class ComparisonBLaunchesChanges(Record):
    step: int | None
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None

class ComparisonBLaunches(Record):
    name: str
    source: str
    steps: int
    warm_up: int
    unsettled: bool
    changes: list[ComparisonBLaunchesChanges]
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    sorted_ns: list[int]
    sorted: list[float]

class ComparisonBOutliers(Record):
    cause: str | None
    count: int | None
    median_ns: float | None
    median: float | None
    extra_ns: float | None
    extra: float | None
    every: object

class ComparisonB(Record):
    label: str
    steps: int
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    stdev_ns: float
    stdev: float
    p95_ns: float
    p95: float
    tokens_per_s: float | None
    n_eff: float
    correlation_time: float
    launches: list[ComparisonBLaunches]
    outliers: list[ComparisonBOutliers]

class ComparisonDrift(Record):
    per_launch: object
    p: float | None
    bias: object

class ComparisonParts(Record):
    kind: str
    name: str
    shape: str | None
    a_ns: float
    a: float
    b_ns: float
    b: float
    difference_ns: float
    difference: float
    a_calls: float | None
    b_calls: float | None
    a_call_ns: float | None
    a_call: float | None
    b_call_ns: float | None
    b_call: float | None
    interval_ns: list[float]
    interval: list[float]
    p: float
    q: float
    called: bool

class ComparisonAttributes:
    schema: str
    version: str
    answer: ComparisonAnswer
    a: ComparisonA
    b: ComparisonB
    ratio: float
    interval: list[float] | None
    difference_ns: float
    difference: float
    verdict: str
    n_eff_a: float
    n_eff_b: float
    p: float | None
    p_steps: float | None
    p_launches: float | None
    p_separated: float | None
    few_steps: bool
    alpha: float
    floor: float
    max_regression: float | None
    regression: bool | None
    order: str | None
    drift: ComparisonDrift | None
    parts: list[ComparisonParts]
    terms: Map[Map[Map[str | None]]]
    warnings: list[str]

class SweepAnswer(Record):
    sentence: str

class SweepValuesLaunchesChanges(Record):
    step: int | None
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None

class SweepValuesLaunches(Record):
    name: str
    source: str
    steps: int
    warm_up: int
    unsettled: bool
    changes: list[SweepValuesLaunchesChanges]
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    sorted_ns: list[int]
    sorted: list[float]

class SweepValuesOutliers(Record):
    cause: str | None
    count: int | None
    median_ns: float | None
    median: float | None
    extra_ns: float | None
    extra: float | None
    every: object

class SweepValues(Record):
    value: str
    label: str
    steps: int
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    stdev_ns: float
    stdev: float
    p95_ns: float
    p95: float
    tokens_per_s: float | None
    n_eff: float
    correlation_time: float
    launches: list[SweepValuesLaunches]
    outliers: list[SweepValuesOutliers]
    ratio: float
    interval: list[float] | None
    p: float | None
    q: float | None
    tie: bool
    best: bool

class SweepAttributes:
    schema: str
    version: str
    answer: SweepAnswer
    name: str
    best: str
    ties: list[str]
    enough_data: bool
    values: list[SweepValues]
    order: list[str]
    warnings: list[str]

class RunsAnswer(Record):
    sentence: str

class RunsRunsBeside(Record):
    verdict: str
    ratio: float
    interval: list[float]
    p: float

class RunsRunsFindings(Record):
    key: str | None
    what: str | None
    gain_ns: int | None
    gain: float | None

class RunsRuns(Record):
    name: str
    recorded: str
    commit: object
    tag: object
    version: str
    source: str
    device: object
    ranks: int | None
    added: bool
    baseline: bool
    steps: int
    median_ns: float
    median: float
    beside: RunsRunsBeside | None
    mfu: float | None
    cause: str | None
    sentence: str | None
    findings: list[RunsRunsFindings]
    digests: int
    digest_bytes: int

class RunsChanges(Record):
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None
    p: float | None

class RunsAttributes:
    schema: str
    version: str
    answer: RunsAnswer
    history: str
    runs: list[RunsRuns]
    changes: list[RunsChanges]
    newest: Map[object] | None
    warnings: list[str]

class CheckAnswer(Record):
    sentence: str

class CheckStepsLaunchesChanges(Record):
    step: int | None
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None

class CheckStepsLaunches(Record):
    name: str
    source: str
    steps: int
    warm_up: int
    unsettled: bool
    changes: list[CheckStepsLaunchesChanges]
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    sorted_ns: list[int]
    sorted: list[float]

class CheckStepsOutliers(Record):
    cause: str | None
    count: int | None
    median_ns: float | None
    median: float | None
    extra_ns: float | None
    extra: float | None
    every: object

class CheckSteps(Record):
    label: str
    steps: int
    median_ns: float
    median: float
    mean_ns: float
    mean: float
    stdev_ns: float
    stdev: float
    p95_ns: float
    p95: float
    tokens_per_s: float | None
    n_eff: float
    correlation_time: float
    launches: list[CheckStepsLaunches]
    outliers: list[CheckStepsOutliers]

class CheckStepTimesJob(Record):
    steps: int
    min_ns: int
    min: float
    median_ns: int
    median: float
    mean_ns: int
    mean: float
    p95_ns: int
    p95: float
    max_ns: int
    max: float
    outliers: int

class CheckStepTimesRanks(Record):
    rank: int
    steps: int
    min_ns: int
    min: float
    median_ns: int
    median: float
    mean_ns: int
    mean: float
    p95_ns: int
    p95: float
    max_ns: int
    max: float
    outliers: int
    deviation: float

class CheckStepTimesColumns(Record):
    first: int
    last: int
    min_ns: int
    min: float
    median_ns: int
    median: float
    max_ns: int
    max: float

class CheckStepTimesMap(Record):
    first_rank: int
    last_rank: int
    deviations: list[float]

class CheckStepTimes(Record):
    steps: int
    warm_up: int
    counted_from: int
    job: CheckStepTimesJob
    ranks: list[CheckStepTimesRanks]
    columns: list[CheckStepTimesColumns]
    map: list[CheckStepTimesMap]

class CheckPhasesRows(Record):
    name: str | None
    kind: str | None
    count: int | None
    mean_ns: float | None
    mean: float | None
    stdev_ns: float | None
    stdev: float | None
    max_ns: float | None
    max: float | None
    share: float | None

class CheckPhasesOverlap(Record):
    computation_ns: float | None
    computation: float | None
    communication_ns: float | None
    communication: float | None
    efficiency: float | None
    without_ns: float | None
    without: float | None
    perfect_ns: float | None
    perfect: float | None

class CheckPhases(Record):
    step_ns: float | None
    step: float | None
    summed: object
    rows: list[CheckPhasesRows]
    overlap: CheckPhasesOverlap

class CheckMfuConventions(Record):
    name: str
    model_flops_per_step: float
    mfu: float

class CheckLogTools(Record):
    name: str | None
    lines: int | None

class CheckLogLaunches(Record):
    first_iteration: object
    last_iteration: object
    records: int | None
    median_ns: float | None
    median: float | None

class CheckLogChangesTimer(Record):
    name: str | None
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None

class CheckLogChanges(Record):
    iteration: object
    before_ns: float | None
    before: float | None
    after_ns: float | None
    after: float | None
    timer: CheckLogChangesTimer

class CheckLogDrift(Record):
    first_ns: float | None
    first: float | None
    last_ns: float | None
    last: float | None
    p: float | None

class CheckLogRates(Record):
    tool: object
    name: str | None
    unit: str | None
    printed: object
    convention: str | None
    factor: float | None
    value: object
    mfu: float | None
    remark: object

class CheckLogLoss(Record):
    first: int | None
    last: int | None
    least: object
    least_iteration: object
    not_finite: object
    first_not_finite: object

class CheckLogTimers(Record):
    name: str | None
    tool: object
    count: int | None
    median_ns: float | None
    median: float | None
    before_ns: float | None
    before: float | None
    share: float | None

class CheckLogCommunication(Record):
    operation: str | None
    size: int | None
    bytes: int | None
    count: int | None
    total_ns: int | None
    total: float | None
    mean_ns: float | None
    mean: float | None
    printed_algbw_gbit_per_s: float | None
    printed_busbw_gbit_per_s: float | None
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None

class CheckLogRun(Record):
    tool: object
    benchmark: object
    organisation: object
    platform: object
    division: object
    status: str | None
    init_ns: float | None
    init: float | None
    run_ns: float | None
    run: float | None
    evaluations: object
    evaluation_ns: float | None
    evaluation: float | None
    first_accuracy: object
    last_accuracy: object
    target_accuracy: object
    last_samples: object

class CheckLogProfiles(Record):
    step: int | None
    forward_flops: float | None
    printed_forward_tflops: object
    forward_tflops: object
    tflops: float | None
    printed_samples_per_s: float | None
    samples_per_s: float | None
    faults: list[object]

class CheckLog(Record):
    tools: list[CheckLogTools]
    steps_from: str
    how: str
    of_tokens: bool
    records: int
    steps_per_record: int
    first_iteration: int | None
    last_iteration: int | None
    ranks: list[object]
    launches: list[CheckLogLaunches]
    changes: list[CheckLogChanges]
    drift: CheckLogDrift | None
    global_batch: float | None
    sequence: float | None
    devices: float | None
    model: str | None
    tokens_per_s: float | None
    samples_per_s: float | None
    printed_samples_per_s: float | None
    rates: list[CheckLogRates]
    loss: CheckLogLoss | None
    skipped_steps: int
    memory_bytes: float | None
    memory_share: float | None
    timers: list[CheckLogTimers]
    communication: list[CheckLogCommunication]
    run: CheckLogRun | None
    profiles: list[CheckLogProfiles]
    notes: Map[str]
    text_bytes: int
    truncated: bool

class CheckChecks(Record):
    name: str
    status: str
    value: float | None
    sentence: str

class CheckChecklistsLines(Record):
    name: str | None
    result: object
    evidence: object

class CheckChecklists(Record):
    name: str | None
    title: object
    lines: list[CheckChecklistsLines]

class CheckAttributes:
    schema: str
    version: str
    answer: CheckAnswer
    input: str
    kind: str
    steps: CheckSteps
    step_times: CheckStepTimes
    phases: CheckPhases | None
    mfu_convention: str | None
    mfu_conventions: list[CheckMfuConventions]
    log: CheckLog | None
    checks: list[CheckChecks]
    checklists: list[CheckChecklists] | None
    record_next: list[str]
    warnings: list[str]

class DigestAnswer(Record):
    sentence: str

class DigestDigests(Record):
    path: str
    input: str
    ranks: list[int]
    world_size: int
    text_bytes: int
    bytes: int
    kept: bool

class DigestAttributes:
    schema: str
    version: str
    answer: DigestAnswer
    folder: str
    digests: list[DigestDigests]
    missing_ranks: list[object]

class HangAnswer(Record):
    sentence: str

class HangInputs(Record):
    path: str
    format: str
    rank: int | None
    text_bytes: int
    calls: int
    truncated: bool
    notes: Map[int]

class HangFindingsRanks(Record):
    rank: int
    label: str

class HangFindingsOthers(Record):
    rank: int
    label: str

class HangFindings(Record):
    kind: str
    sentence: str
    group: int
    group_name: str
    sequence: int
    ranks: list[HangFindingsRanks]
    unrecorded_ranks: list[object]
    others: list[HangFindingsOthers]
    numbers: list[object]
    other_numbers: list[object]
    silent: int
    call: Map[object]
    instead: Map[object]
    even: bool
    next_of_others: bool
    follows: bool | None
    circular: bool

class HangGroups(Record):
    group: int
    id: str | None
    name: str
    source: str
    size: int
    members: list[int]
    members_recorded: bool
    recorded: int
    calls: int
    pairs: int
    all_reached: int
    furthest: int
    finding: int

class HangLastCalls(Record):
    rank: int
    label: str
    calls: int
    group: int
    group_name: str
    name: str
    sequence: int
    sizes: object
    state: str

class HangTimeouts(Record):
    rank: int
    group: int
    sequence: int
    operation: str
    in_elements: int
    out_elements: int
    limit_ns: int
    limit: float
    ran_ns: int
    ran: float

class HangMessages(Record):
    rank: int | None
    text: str | None
    times: object

class HangIncidentTimelineTime(Record):
    written: str
    of_an_earlier_line: bool

class HangIncidentTimeline(Record):
    kind: str
    sentence: str
    ranks: list[int]
    host: object
    time: HangIncidentTimelineTime
    code: int
    text: str
    events: int
    follows: bool
    input: int
    line: int

class HangIncidentLastLinesTime(Record):
    written: str
    of_an_earlier_line: bool

class HangIncidentLastLines(Record):
    rank: int
    time: HangIncidentLastLinesTime
    text: str
    input: int
    line: int

class HangIncidentOutOfMemory(Record):
    sentence: str | None
    advice: list[object]
    cause: str | None
    rank: int | None
    device: object
    request_bytes: float | None
    device_bytes: float | None
    free_bytes: float | None
    allocated_bytes: int | None
    unallocated_bytes: float | None
    missing_bytes: float | None
    input: object
    line: int | None
    times: object

class HangIncidentStanding(Record):
    name: str | None
    rank: int | None
    phase: str | None
    label: str | None
    frame: str | None

class HangIncident(Record):
    cause: str | None
    cause_is_first: bool
    timeline: list[HangIncidentTimeline]
    left_out: int
    world: object
    silent_ranks: list[object]
    last_lines: list[HangIncidentLastLines]
    out_of_memory: list[HangIncidentOutOfMemory]
    ras: list[object]
    set_up: list[object]
    standing: list[HangIncidentStanding]

class HangNcclCommunicatorsRingOrders(Record):
    channels: list[object]
    ranks: list[object]
    whole: object

class HangNcclCommunicatorsTreeShapesRanks(Record):
    rank: int | None
    up: object
    down: list[object]

class HangNcclCommunicatorsTreeShapes(Record):
    channels: list[object]
    ranks: list[HangNcclCommunicatorsTreeShapesRanks]
    whole: object

class HangNcclCommunicatorsMembers(Record):
    rank: int | None
    host: object
    pid: int | None
    device: object
    bus: object
    complete: object
    ended: object

class HangNcclCommunicators(Record):
    id: str | None
    ranks: int | None
    nodes: int | None
    parent: object
    channels: object
    pair_channels: object
    rings: list[object]
    trees: list[object]
    ring_orders: list[HangNcclCommunicatorsRingOrders]
    tree_shapes: list[HangNcclCommunicatorsTreeShapes]
    unclear_rings: object
    unclear_trees: object
    transports: Map[object]
    init_ns: float | None
    init: float | None
    members: list[HangNcclCommunicatorsMembers]

class HangNcclWithoutCommunicatorRingsRingOrders(Record):
    channels: list[object]
    ranks: list[object]
    whole: object

class HangNcclWithoutCommunicatorRings(Record):
    host: object
    pid: int | None
    ring_orders: list[HangNcclWithoutCommunicatorRingsRingOrders]
    unclear_rings: object

class HangNcclWithoutCommunicatorConnections(Record):
    from_host: object
    to_host: object
    channels: list[object]
    transports: Map[object]

class HangNcclWithoutCommunicator(Record):
    rings: list[HangNcclWithoutCommunicatorRings]
    connections: list[HangNcclWithoutCommunicatorConnections]

class HangNcclChoices(Record):
    operation: str | None
    algorithm: object
    protocol: str | None
    calls: int | None
    least_bytes: float | None
    most_bytes: float | None

class HangNccl(Record):
    versions: Map[object]
    networks: Map[object]
    environment: Map[object]
    communicators: list[HangNcclCommunicators]
    without_communicator: HangNcclWithoutCommunicator
    choices: list[HangNcclChoices]

class HangAttributes:
    schema: str
    version: str
    answer: HangAnswer
    inputs: list[HangInputs]
    calls: int
    findings: list[HangFindings]
    groups: list[HangGroups]
    last_calls: list[HangLastCalls]
    timeouts: list[HangTimeouts]
    messages: list[HangMessages]
    incident: HangIncident
    nccl: HangNccl | None
    warnings: list[str]

class LiveAnswer(Record):
    fine: bool
    sentence: str
    unseen: str

class LiveStepsCurve(Record):
    last: int
    steps: int
    mean_ns: float
    mean: float
    min_ns: float
    min: float
    max_ns: float
    max: float

class LiveSteps(Record):
    source: str
    steps: int
    last: int
    recent_ns: float
    recent: float
    p50_ns: float
    p50: float
    p99_ns: float
    p99: float
    curve: list[LiveStepsCurve]

class LiveProcessesLate(Record):
    communicator: object
    phase: str
    since: int
    late_ns: float
    late: float
    step_ns: float
    step: float

class LiveProcesses(Record):
    rank: int
    name: str
    host: str
    pid: int
    records: int
    quiet_s: float
    silent: bool
    replaced: bool
    late: LiveProcessesLate | None

class LiveCommunicatorsLongerTransfers(Record):
    before_ns: float | None
    before: float | None
    now_ns: float | None
    now: float | None

class LiveCommunicators(Record):
    id: str | None
    name: str | None
    ranks: int | None
    ranks_seen: object
    collectives: int | None
    collectives_in_a_step: object
    longer_transfers: LiveCommunicatorsLongerTransfers
    wait_share: float | None

class LiveEventsChange(Record):
    step: int
    before_ns: float
    before: float
    after_ns: float
    after: float
    transfer_ns: float | None
    transfer: float | None
    wait_ns: float
    wait: float

class LiveEventsTransfers(Record):
    before_ns: float | None
    before: float | None
    now_ns: float | None
    now: float | None
    round_ns: float | None
    round: float | None
    others: object

class LiveEvents(Record):
    kind: str
    sentence: str
    age_s: float
    step: int
    since: int | None
    ranks: list[int]
    rank_count: int
    host: str | None
    communicator: object
    late_ns: float | None
    late: float | None
    step_ns: float | None
    phase: str | None
    change: LiveEventsChange | None
    transfers: LiveEventsTransfers | None
    seconds: float | None

class LiveCoverage(Record):
    records: int
    matched: int
    unmatched: int
    unrecorded: int
    dropped: int
    not_gpu_timed: int
    point_to_point: int
    least_bytes: float | None

class LiveFiles(Record):
    files: int
    kinds: Map[int]
    missing: int
    left_out: int
    bytes: int
    skipped_bytes: int
    lines: int
    not_understood: int
    without_marker: int
    lost_lines: int
    long_lines: int
    rotations: int
    truncations: int

class LiveAttributes:
    schema: str
    version: str
    answer: LiveAnswer
    followed_s: float
    catching_up: bool
    stands_still: bool
    steps: LiveSteps | None
    processes: list[LiveProcesses]
    communicators: list[LiveCommunicators]
    events: list[LiveEvents]
    coverage: LiveCoverage
    files: LiveFiles

class MemoryAnswer(Record):
    sentence: str | None

class MemoryInputsSettings(Record):
    text: str | None
    expandable_segments: object
    max_split_bytes: float | None

class MemoryInputs(Record):
    path: str | None
    format: str | None
    rank: int | None
    text_bytes: int | None
    stacks: int | None
    settings: MemoryInputsSettings
    notes: Map[int]

class MemoryDevicesPeakMemory(Record):
    reserved_bytes: int | None
    live_bytes: float | None
    requested_bytes: float | None
    rounding_bytes: float | None
    cached_bytes: float | None
    stranded_bytes: float | None
    pending_bytes: float | None
    largest_free_bytes: float | None
    external_fragmentation: object
    segments: object
    segments_split: object
    segments_expandable: object
    blocks_outside: object

class MemoryDevicesPeakHolders(Record):
    bytes: int | None
    requested_bytes: float | None
    blocks: object
    use: object
    phase: str | None
    place: object
    function: str | None
    file: object
    line: int | None
    operator: object
    stack: list[object]

class MemoryDevicesPeak(Record):
    event: object
    time_ns: float | None
    time: float | None
    memory: MemoryDevicesPeakMemory
    by_use_bytes: Map[float]
    holders: list[MemoryDevicesPeakHolders]
    holders_left_out: object

class MemoryDevicesEndMemory(Record):
    reserved_bytes: int | None
    live_bytes: float | None
    requested_bytes: float | None
    rounding_bytes: float | None
    cached_bytes: float | None
    stranded_bytes: float | None
    pending_bytes: float | None
    largest_free_bytes: float | None
    external_fragmentation: object
    segments: object
    segments_split: object
    segments_expandable: object
    blocks_outside: object

class MemoryDevicesEndHolders(Record):
    bytes: int | None
    requested_bytes: float | None
    blocks: object
    use: object
    phase: str | None
    place: object
    function: str | None
    file: object
    line: int | None
    operator: object
    stack: list[object]

class MemoryDevicesEnd(Record):
    event: object
    time_ns: float | None
    time: float | None
    memory: MemoryDevicesEndMemory
    by_use_bytes: Map[float]
    holders: list[MemoryDevicesEndHolders]
    holders_left_out: object

class MemoryDevicesTimeline(Record):
    event: object
    time_ns: float | None
    time: float | None
    allocated_bytes: int | None
    requested_bytes: float | None
    reserved_bytes: int | None
    by_use_bytes: Map[float]

class MemoryDevicesTree(Record):
    labels: list[str]
    label: list[object]
    parent: list[int]
    total: list[int]

class MemoryDevicesOutOfMemoryMemory(Record):
    reserved_bytes: int | None
    live_bytes: float | None
    requested_bytes: float | None
    rounding_bytes: float | None
    cached_bytes: float | None
    stranded_bytes: float | None
    pending_bytes: float | None
    largest_free_bytes: float | None
    external_fragmentation: object
    segments: object
    segments_split: object
    segments_expandable: object
    blocks_outside: object

class MemoryDevicesOutOfMemory(Record):
    event: object
    time_ns: float | None
    time: float | None
    request_bytes: float | None
    device_free_bytes: float | None
    verdict: str | None
    largest_usable_bytes: float | None
    free_usable_bytes: float | None
    largest_other_bytes: float | None
    missing_bytes: float | None
    memory: MemoryDevicesOutOfMemoryMemory
    stack: list[object]

class MemoryDevicesRetries(Record):
    count: int | None
    certain: object
    segments: object
    bytes: int | None
    total_ns: int | None
    total: float | None
    emptied: object

class MemoryDevicesFindings(Record):
    id: str | None
    sentence: str | None
    advice: str | None
    bytes: int | None

class MemoryDevices(Record):
    input: int
    rank: int | None
    device: int
    events: int
    allocations: int
    begins_empty: bool
    has_stacks: bool
    start_unix_ns: str | None
    start_unix: str | None
    length_ns: int | None
    length: float | None
    peak_reserved_bytes: int
    peak: MemoryDevicesPeak
    end: MemoryDevicesEnd
    lasting_blocks: int
    lasting_bytes: int
    timeline: list[MemoryDevicesTimeline]
    tree: MemoryDevicesTree
    out_of_memory: list[MemoryDevicesOutOfMemory]
    out_of_memory_count: int
    retries: MemoryDevicesRetries
    contradictions: int
    sizes_corrected: int
    findings: list[MemoryDevicesFindings]

class MemoryMessagesProcesses(Record):
    pid: int | None
    bytes: int | None

class MemoryMessages(Record):
    sentence: str | None
    advice: list[object]
    cause: str | None
    rank: int | None
    device: object
    space: object
    framework: str | None
    backend: object
    request_bytes: float | None
    device_bytes: float | None
    free_bytes: float | None
    allowed_bytes: float | None
    allocated_bytes: int | None
    unallocated_bytes: float | None
    missing_bytes: float | None
    others_bytes: float | None
    processes: list[MemoryMessagesProcesses]
    where: object
    path: str | None
    line: int | None
    times: object

class MemoryCheckpoints(Record):
    path: str | None
    label: str | None
    allocated_bytes: int | None
    change_bytes: int | None
    reserved_bytes: int | None
    peak_bytes: float | None
    host_bytes: float | None

class MemorySummaries(Record):
    path: str | None
    line: int | None
    device: object
    failed: object
    retries: object
    allocated_bytes: int | None
    peak_allocated_bytes: int | None
    reserved_bytes: int | None
    peak_reserved_bytes: int | None
    stranded_bytes: float | None

class MemoryAttributes:
    schema: str
    version: str
    answer: MemoryAnswer
    inputs: list[MemoryInputs]
    devices: list[MemoryDevices]
    messages: list[MemoryMessages]
    checkpoints: list[MemoryCheckpoints]
    summaries: list[MemorySummaries]
    terms: Map[object]
    warnings: list[str]

class StacksAnswer(Record):
    sentence: str

class StacksInputs(Record):
    path: str
    format: str
    text_bytes: int
    stacks: int
    truncated: bool
    notes: Map[int]

class StacksAgainst(Record):
    inputs: list[object]
    weight: int | None
    busy: int | None

class StacksThreadsPhases(Record):
    phase: str
    weight: int

class StacksThreads(Record):
    name: str
    process: object
    input: int
    weight: int
    busy: int
    idle: int
    hidden: int
    phases: list[StacksThreadsPhases]

class StacksPhases(Record):
    name: str
    label: str
    kind: str
    explanation: str
    weight: int
    share_of_busy: float
    share_of_busy_before: object
    passes: Map[int]

class StacksFunctions(Record):
    frame: str
    function: str
    file: object
    line: int | None
    line_by_table: bool
    kind: str
    phase: str | None
    phase_weight: int
    self: int
    total: int

class StacksFlame(Record):
    labels: list[str]
    label: list[int]
    parent: list[int]
    self: list[int]
    total: list[int]
    before: list[object] | None
    phase: list[int]
    phases: list[str]
    passes: list[str]
    left_out: int

class StacksBottomUp(Record):
    label: list[str]
    parent: list[int]
    total: list[int]

class StacksTraceProfilesThreadsPhases(Record):
    phase: str | None
    weight: int | None
    device: Map[object]
    outside: object

class StacksTraceProfilesThreads(Record):
    thread: object
    weight: int | None
    device: Map[object]
    outside: object
    phases: list[StacksTraceProfilesThreadsPhases]

class StacksTraceProfiles(Record):
    input: object
    rank: int | None
    device: object
    joined: object
    not_joined: object
    offset_ns: int | None
    offset: float | None
    start_ns: float | None
    start: float | None
    end_ns: int | None
    end: float | None
    first_step: object
    last_step: object
    steps: int | None
    budget_ns: Map[int]
    budget: dict[str, float]
    threads: list[StacksTraceProfilesThreads]

class StacksTraceFindings(Record):
    id: str | None
    key: str | None
    sort: str | None
    under: str | None
    what: str | None
    evidence: list[str]
    place: object
    places: list[int]
    advice: str | None
    gain_ns: int | None
    gain: float | None
    gain_from: str | None
    confidence: str | None

class StacksTrace(Record):
    inputs: list[object]
    step_mean_ns: float | None
    step_mean: float | None
    profiles: list[StacksTraceProfiles]
    findings: list[StacksTraceFindings]

class StacksAttributes:
    schema: str
    version: str
    answer: StacksAnswer
    unit: str
    weight: float
    busy: float
    idle: float
    hidden: float
    inputs: list[StacksInputs]
    against: StacksAgainst | None
    threads: list[StacksThreads]
    phases: list[StacksPhases]
    functions: list[StacksFunctions]
    flame: StacksFlame
    bottom_up: StacksBottomUp
    trace: StacksTrace | None
    lasti: str | None
    terms: Map[Map[Map[str | None]]]
    warnings: list[str]

class PredictionAnswer(Record):
    sentence: str
    plan: str

class PredictionModel(Record):
    name: str
    parameters: int
    active_parameters: int
    trained_parameters: int
    layers: int

class PredictionStepIntervalNs(Record):
    low: float
    high: float
    coverage: float

class PredictionStepTerms(Record):
    name: str
    label: str
    ns: float
    share: float
    formula: str

class PredictionPeakBudget(Record):
    name: str
    label: str
    ns: float
    share: float

class PredictionConventions(Record):
    name: str
    model_flops_per_step: float
    mfu: float

class PredictionMemoryBytes(Record):
    parameters: float
    gathered: float
    gradients: float
    buckets: float
    master: float
    optimizer: float
    activations: float
    workspace: float
    logits: float
    total: float

class PredictionMemory(Record):
    capacity_bytes: int
    headroom_bytes: float
    fits: bool
    peak_stage: int
    host_bytes: float
    host_capacity_bytes: int
    nvme_bytes: float
    nvme_capacity_bytes: int
    formulas: Map[str]

class PredictionLayers(Record):
    part: str
    name: str
    count: int
    flops_fwd: float
    flops_bwd: float
    vector_flops_fwd: float
    vector_flops_bwd: float
    mem_fwd_bytes: float
    mem_bwd_bytes: float
    input_fwd_bytes: float
    weight_fwd_bytes: float
    output_fwd_bytes: float
    kept_bytes: float
    parameters: float
    comm_fwd_bytes: float
    comm_bwd_bytes: float
    t_fwd_ns: float
    t_fwd: float
    t_bwd_ns: float
    t_bwd: float
    t_comm_fwd_ns: float
    t_comm_fwd: float
    t_comm_bwd_ns: float
    t_comm_bwd: float
    intensity: float
    other_fwd_bytes: float
    gradient_bytes: float
    weight_bytes: float
    weight_gradient_bytes: float
    comm_fwd: object
    comm_bwd: object
    comm_group: object
    comm_tier_fwd: object
    comm_tier_bwd: object
    t_compute_fwd_ns: float
    t_compute_fwd: float
    t_compute_bwd_ns: float
    t_compute_bwd: float
    t_memory_fwd_ns: float
    t_memory_fwd: float
    t_memory_bwd_ns: float
    t_memory_bwd: float
    t_total_fwd_ns: float
    t_total_fwd: float
    t_total_bwd_ns: float
    t_total_bwd: float
    comm_share_fwd: float
    comm_share_bwd: float

class PredictionLayerSums(Record):
    part: str
    layers: int
    flops_fwd: float
    flops_bwd: float
    vector_flops_fwd: float
    vector_flops_bwd: float
    mem_fwd_bytes: float
    mem_bwd_bytes: float
    kept_bytes: float
    parameters: float
    weight_bytes: float
    weight_gradient_bytes: float
    comm_fwd_bytes: float
    comm_bwd_bytes: float
    t_fwd_ns: float
    t_fwd: float
    t_bwd_ns: float
    t_bwd: float
    t_comm_fwd_ns: float
    t_comm_fwd: float
    t_comm_bwd_ns: float
    t_comm_bwd: float
    t_total_fwd_ns: float
    t_total_fwd: float
    t_total_bwd_ns: float
    t_total_bwd: float
    comm_share_fwd: float
    comm_share_bwd: float

class PredictionLayerTablesRows(Record):
    layer: object
    flops_fwd: float | None
    input_fwd_bytes: float | None
    other_fwd_bytes: float | None
    output_fwd_bytes: float | None
    kept_bytes: float | None
    weight_bytes: float | None
    mem_fwd_bytes: float | None
    flops_bwd: float | None
    gradient_bytes: float | None
    weight_gradient_bytes: float | None
    mem_bwd_bytes: float | None
    comm_bwd_bytes: float | None
    comm_bwd: object
    comm_group: object
    comm_fwd_bytes: float | None
    comm_fwd: object
    t_compute_fwd_ns: float | None
    t_compute_fwd: float | None
    t_memory_fwd_ns: float | None
    t_memory_fwd: float | None
    t_compute_bwd_ns: float | None
    t_compute_bwd: float | None
    t_memory_bwd_ns: float | None
    t_memory_bwd: float | None
    intensity: float | None
    t_fwd_ns: float | None
    t_fwd: float | None
    t_bwd_ns: float | None
    t_bwd: float | None
    comm_tier_fwd: object
    comm_tier_bwd: object
    t_comm_fwd_ns: float | None
    t_comm_fwd: float | None
    t_comm_bwd_ns: float | None
    t_comm_bwd: float | None
    t_total_fwd_ns: float | None
    t_total_fwd: float | None
    t_total_bwd_ns: float | None
    t_total_bwd: float | None
    comm_share_fwd: float | None
    comm_share_bwd: float | None

class PredictionLayerTablesSum(Record):
    layer: object
    flops_fwd: float | None
    kept_bytes: float | None
    weight_bytes: float | None
    mem_fwd_bytes: float | None
    flops_bwd: float | None
    weight_gradient_bytes: float | None
    mem_bwd_bytes: float | None
    comm_bwd_bytes: float | None
    comm_fwd_bytes: float | None
    t_fwd_ns: float | None
    t_fwd: float | None
    t_bwd_ns: float | None
    t_bwd: float | None
    t_comm_fwd_ns: float | None
    t_comm_fwd: float | None
    t_comm_bwd_ns: float | None
    t_comm_bwd: float | None
    t_total_fwd_ns: float | None
    t_total_fwd: float | None
    t_total_bwd_ns: float | None
    t_total_bwd: float | None
    comm_share_fwd: float | None
    comm_share_bwd: float | None

class PredictionLayerTables(Record):
    conventions: object
    name: str | None
    layers: int | None
    rows: list[PredictionLayerTablesRows]
    sum: PredictionLayerTablesSum

class PredictionCost(Record):
    price_per_gpu_hour: object
    per_step: object
    per_giga_token: object

class PredictionComparison(Record):
    label: str
    plan: Map[object]
    step_time_ns: float
    step_time: float
    mfu: float
    memory_bytes: Map[float]
    communication_bytes: float
    data_bytes: float
    error: object

class PredictionEqualStages(Record):
    bubble_share: float | None
    efficiency: float | None
    formula: str | None
    own_share: float | None
    busiest_device: object
    busiest_ratio: object

class PredictionSizesAlgorithms(Record):
    name: str
    protocol: str
    offered: bool
    time_ns: float
    time: float
    start_ns: float
    start: float
    steps_ns: float
    steps: float
    transfer_ns: float
    transfer: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    formula: str

class PredictionSizes(Record):
    bytes: int
    extrapolated: bool
    best: str
    best_protocol: str
    time_ns: float
    time: float
    busbw_gb_per_s: float
    algorithms: list[PredictionSizesAlgorithms]

class PredictionCrossovers(Record):
    bytes: int
    from_protocol: str
    to: str
    to_protocol: str

class PredictionAttributes:
    schema: str
    version: str
    answer: PredictionAnswer
    model: PredictionModel
    machine: Map[float | str]
    plan: Map[object]
    step_time_ns: float
    step_time: float
    step_interval_ns: PredictionStepIntervalNs
    step_interval: PredictionStepIntervalNs
    terms: Map[Map[Map[str | None]]]
    step_terms: list[PredictionStepTerms]
    peak_budget: list[PredictionPeakBudget]
    mfu: float
    hfu: float
    convention: str
    conventions: list[PredictionConventions]
    tokens_per_second: float
    tokens_per_second_per_device: float
    memory_bytes: PredictionMemoryBytes
    memory: PredictionMemory
    layers: list[PredictionLayers]
    layer_sums: list[PredictionLayerSums]
    layer_tables: list[PredictionLayerTables]
    cost: PredictionCost | None
    comparison: list[PredictionComparison]
    equal_stages: PredictionEqualStages | None
    warnings: list[str]
    op: str
    group: int
    domains: int
    measured_to_bytes: int | None
    sizes: list[PredictionSizes]
    crossovers: list[PredictionCrossovers]

class PlanSearchAnswer(Record):
    sentence: str
    plan: str
    remarks: list[str]

class PlanSearchMemory(Record):
    capacity_bytes: int
    allowed_bytes: float

class PlanSearchBest(Record):
    plan: Map[object]
    words: str
    brief: str
    step_time_ns: float
    step_time: float
    step_interval_ns: Map[float]
    step_interval: dict[str, float]
    mfu: float
    tokens_per_second: float
    memory_bytes: Map[float]
    terms_ns: Map[float]
    terms: dict[str, float]
    near_tie: bool

class PlanSearchAgainstGains(Record):
    term: str
    ns: float

class PlanSearchAgainst(Record):
    label: str
    plan: Map[object]
    words: str
    brief: str
    step_time_ns: float
    step_time: float
    step_interval_ns: Map[float]
    step_interval: dict[str, float]
    mfu: float
    tokens_per_second: float
    memory_bytes: Map[float]
    terms_ns: Map[float]
    terms: dict[str, float]
    headroom_bytes: float
    fits: bool
    allowed: bool
    faster_plans: int
    faster_plans_complete: bool
    gains: list[PlanSearchAgainstGains]
    sentence: str
    error: object

class PlanSearchSensitivity(Record):
    what: str
    factor: float
    step_time_ns: float
    step_time: float
    other_plan: Map[object] | None
    other: str | None

class PlanSearchFlags(Record):
    framework: str
    text: str
    not_expressed: list[str]

class PlanSearchAttributes:
    schema: str
    version: str
    answer: PlanSearchAnswer
    model: str
    machine: str
    devices: list[int]
    global_batch: int
    sequence: int
    memory: PlanSearchMemory
    model_error: float
    terms: Map[Map[Map[str | None]]]
    candidates: int
    feasible: int
    evaluated: int
    rejected: Map[int]
    elapsed_ns: float
    elapsed: float
    best: list[PlanSearchBest]
    against: list[PlanSearchAgainst]
    pareto: list[Map[object]]
    by_devices: list[Map[object]]
    sensitivity: list[PlanSearchSensitivity]
    smallest_devices: int | None
    flags: list[PlanSearchFlags]
    warnings: list[str]
