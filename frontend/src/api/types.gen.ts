// Written by tools/gen_api_types.py from the Structs of tb_plugin. Do not edit: run that script.

/** The program this page is of. */
export const VERSION = "0.1.0";
/** A key of all types below, which the server has as well. */
export const CONTRACT = "c2887f88";

export type CallKindName = "op" | "annotation" | "python" | "module" | "runtime" | "other";

export type CaptureState = "lent" | "refused" | "none";

export type CategoryConfidence = "high" | "medium" | "low";

export type ColumnKind = "value" | "name" | "path" | "words" | "text";

export type ColumnUnit = "" | "ns" | "bytes" | "bytes/s" | "FLOP" | "ratio" | "%" | "W" | "MHz" | "J";

export type DiffGroup = "operators" | "kernels" | "modules" | "memory";

export type DiffMetric = "self_ns" | "total_ns" | "device_self_ns" | "device_total_ns" | "bytes" | "peak_bytes" | "calls";

export type DiffStatus = "added" | "removed" | "faster" | "slower" | "more" | "less" | "more calls" | "fewer calls" | "differs" | "same" | "small" | "unsure";

export type DistributedRole = "" | "data parallel" | "sharded data parallel" | "tensor parallel" | "pipeline" | "expert parallel" | "model-parallel embeddings" | "context parallel";

export type Division = "device" | "host" | "classic";

export type First = "" | "call" | "kernel";

export type FlameMetric = "host" | "device" | "calls";

export type FrameLayout = "merged" | "split" | "filtered" | "user";

export type GroupBy = "name" | "shape" | "line" | "stack" | "module" | "thread" | "annotation";

export type HeldKind = "op" | "runtime" | "blocking" | "python" | "annotation" | "other" | "graph_node";

export type KernelGroupBy = "name" | "properties" | "class" | "module" | "line" | "graph";

export type KernelKey = "name" | "launch" | "role" | "family";

export type LayerBy = "category" | "module" | "line" | "total";

export type LayoutName = "merged" | "split" | "filtered" | "user" | "merged-folded" | "split-folded" | "filtered-folded" | "user-folded" | "merged-recorded" | "split-recorded" | "filtered-recorded" | "user-recorded";

export type MatrixUseName = "yes" | "no" | "unknown" | "none";

export type MemoryCategory = "parameter" | "optimizer" | "input" | "communication" | "unknown" | "gradient" | "autograd" | "activation" | "temporary";

export type ModuleMetric = "device" | "op" | "host" | "idle";

export type ModuleTime = "device" | "op";

export type NodeKindName = "kernel" | "copy" | "set" | "host" | "event";

export type Outcome = "better" | "worse" | "differs" | "no change" | "cannot tell";

export type Phase = "" | "prefill" | "decode" | "mixed" | "idle";

export type RankPlaceKind = "late" | "last" | "waits most" | "median";

export type Severity = "high" | "medium" | "low" | "info";

export type SiteOutcome = "new" | "gone" | "grown" | "shrunk" | "same";

export type SpeedGrouping = "op" | "kernel" | "module" | "kind";

export type State = "waiting" | "queued" | "reading" | "ready" | "refused" | "failed";

export type StepNoun = "step" | "iteration" | "recording";

export type TrackKind = "thread" | "python" | "stream" | "graph" | "annotations" | "syncs" | "ranges";

export type WaitKind = "latency" | "host" | "other" | "unknown";

/** Addresses in use that lie together. Offsets go on from band to band without a gap. */
export interface AddressBand {
  /** hexadecimal */
  readonly address: string;
  /** of its first byte */
  readonly offset: number;
  readonly bytes: number;
}

/** Names and sizes that the tiles of a device refer to. */
export interface AddressMap {
  readonly device: string;
  /** offsets are below it */
  readonly bytes: number;
  readonly end_ns: number;
  /** by address */
  readonly bands: readonly AddressBand[];
  /** of time, in a tile */
  readonly tile_buckets: number;
  readonly tile_rows: number;
  /** that the device has over time; 0 where they are not known */
  readonly segments: number;
  /** what the picture cannot show */
  readonly note: string;
  /** why there is none; "" = there is */
  readonly missing: string;
}

/** One box of the treemap. Parents come before their children; children sum to their parent. */
export interface AliveNode {
  /** index in the same list, −1 for a category */
  readonly parent: number;
  readonly kind: "category" | "module" | "op" | "rest" | "size";
  /** "" = no module, no op */
  readonly name: string;
  readonly category: MemoryCategory;
  readonly bytes: number;
  /** blocks; 0 where no block stands for it */
  readonly count: number;
  /** of kind "size": the size of each */
  readonly each_bytes: number | null;
  /** innermost frame of the user's code; of kind "size" */
  readonly line: string;
  /** one of them; of kind "size" */
  readonly block: number | null;
  /** the op of that one, on the timeline */
  readonly slice: number | null;
  readonly confidence: CategoryConfidence;
  readonly why: string;
}

/** Device and time of the blocks to list; the range is the one whose peak it is. */
export interface AliveQuery extends MemoryRange {
  readonly at?: "peak" | "second" | "time";
  /** with `at` "time" */
  readonly at_ns?: number;
  /** groups; what is smaller is added up */
  readonly limit?: number;
}

/** Contents of a total. */
export interface AliveTree {
  /** null: there is no such instant */
  readonly ts: number | null;
  readonly bytes: number;
  readonly nodes: readonly AliveNode[];
  /** why there is nothing to show; "" = there is */
  readonly missing: string;
}

/** A question, and whether this recording can answer it. */
export interface Answerable {
  /** A common question about a run. */
  readonly question: string;
  /** Yes, in part or no: can this recording answer it? */
  readonly answer: "in part" | "no" | "yes";
  /** The recorded data that answers it. */
  readonly has: string;
  /** The missing data that would answer it. */
  readonly lacks: string;
}

/** One rule of a category, and the blocks of the whole recording that it decided on. */
export interface AppliedRule {
  readonly category: MemoryCategory;
  readonly label: string;
  readonly confidence: CategoryConfidence;
  readonly why: string;
  readonly blocks: number;
  readonly bytes: number;
}

/** The contents of a range of time on chosen tracks. */
export interface AreaAnswer {
  readonly start_ns: number;
  readonly end_ns: number;
  readonly slices: number;
  /** slices cut at an edge */
  readonly clipped: number;
  readonly total_ns: number;
  /** by total, at most `limit` */
  readonly rows: readonly AreaRow[];
  readonly row_count: number;
  readonly devices: readonly AreaDevice[];
  readonly devices_missing: string;
  readonly counters: readonly AreaCounter[];
}

/** One series within an area. */
export interface AreaCounter {
  readonly series: number;
  readonly label: string;
  readonly unit: string;
  readonly low: number | null;
  readonly high: number | null;
  readonly mean: number | null;
  readonly delta: number | null;
}

/** One device within an area; busy + idle + unknown = the length of the area. */
export interface AreaDevice {
  readonly label: string;
  readonly busy_ns: number;
  readonly idle_ns: number;
  /** not busy in the head of the recording, or in start-up */
  readonly unknown_ns: number;
  readonly compute_ns: number;
  readonly communication_ns: number;
  /** of compute and communication */
  readonly overlap_ns: number;
  readonly copy_ns: number;
  readonly gaps: number;
  readonly longest_gap_ns: number;
  readonly longest_gap_ts: number | null;
}

/** Sums of an area, for so many names. */
export interface AreaQuery extends RangeQuery {
  readonly limit?: number;
}

/** All slices of one name within an area; those at its edges are clipped to it. */
export interface AreaRow {
  readonly name: number;
  readonly text: string;
  readonly kind: number;
  readonly count: number;
  readonly total_ns: number;
  readonly self_ns: number;
  readonly min_ns: number;
  readonly mean_ns: number;
  readonly p50_ns: number;
  readonly p95_ns: number;
  readonly max_ns: number;
  /** of the area's wall time */
  readonly share: number | null;
  /** slice id */
  readonly longest: number;
}

/** One arrow, or a bundle of `count` that begin and end close together. */
export interface Arrow {
  readonly kind: number;
  readonly source: SliceRef;
  readonly target: SliceRef;
  readonly count: number;
}

/** Workers shown beside the requested trace. */
export interface AxisQuery {
  /** "a,b"; a comma is %2C, a percent sign %25 */
  readonly workers: string;
}

/** Collectives of one group, operation and size: median bandwidth. */
export interface BandwidthPoint {
  /** What they do. */
  readonly operation: string;
  /** The process group that they run in. */
  readonly group: string;
  /** all_gather: what each rank receives in all; reduce_scatter and all_to_all: what each sends in all, of all_to_allv without its own part, the largest of any rank; gather and scatter: what the root has; else the message (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly bytes: number;
  /** Collectives of this group, operation and size. */
  readonly count: number;
  /** From the last start to the first end, the time in which data moved: min over ranks of end − max over ranks of start. Where clocks cannot be compared, or one ends before, the shortest duration of any rank. */
  readonly transfer_ns: number;
  /** Size / transfer, GB/s = 10⁹ bytes a second; of several collectives the median (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly algorithm_gbs: number;
  /** Algorithm bandwidth × factor, for n ranks: 2(n−1)/n for all_reduce; (n−1)/n for all_gather, reduce_scatter, all_to_all, gather and scatter; 1 for broadcast, reduce, send and recv, and for all_to_allv, whose own part is not in the size. So it can be held against the hardware's figure (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly bus_gbs: number;
}

/** One block. */
export interface BlockDetails {
  readonly block: number;
  readonly device: string;
  readonly bytes: number;
  /** hexadecimal */
  readonly address: string;
  readonly life_start_ns: number | null;
  readonly life_end_ns: number | null;
  readonly category: MemoryCategory;
  readonly label: string;
  readonly confidence: CategoryConfidence;
  readonly why: string;
  /** around the allocation, outermost first */
  readonly ops: readonly string[];
  readonly module: string;
  readonly line: string;
  /** of the op that allocated it */
  readonly slice: number | null;
  /** around the release */
  readonly release_ops: readonly string[];
  readonly release_slice: number | null;
  readonly step: string;
}

/** One block. */
export interface BlockQuery {
  readonly block: number;
}

/** A line at which a function leaves its graph. */
export interface BreakRow {
  /** The user's line that cannot be traced. */
  readonly place: string;
  /** The function of that line. */
  readonly name: string;
  /** As torch gives it. */
  readonly reason: string;
  /** Runs of the code behind it, in the recording. */
  readonly calls: number;
  /** Estimate: host time from the end of the graph before to the code behind the break, without ops. Lost fusion is not counted. */
  readonly gap_ns: number | null;
  /** What torch advises. */
  readonly hint: string | null;
  /** Lines outside of it. */
  readonly callers: string | null;
  /** Compilations that met it. */
  readonly versions: number;
  readonly link: Reference | null;
}

/** Arrows of a view, bundled where they are close together on the screen. */
export interface BundlesQuery extends RangeQuery {
  readonly columns?: number;
  readonly kinds?: string;
}

/** One frame of a call stack. */
export interface CallFrame {
  readonly name: string;
  readonly file: string;
  /** 1-based, 0 = unknown */
  readonly line: number;
}

/** Fit of a recording of the capture, and whether its operators are used. */
export interface Capture {
  readonly state: CaptureState;
  /** what was compared and what came of it, in words */
  readonly text: string;
  /** of the recording that fits best; "" = there is none */
  readonly run: string;
  readonly worker: string;
  readonly span: string;
  /** of the capture that fits best */
  readonly batch: number | null;
  /** part of the kernel time whose launch was found */
  readonly ratio: number | null;
  /** kernels of a replay … */
  readonly matched: number;
  /** … of so many */
  readonly kernels: number;
  readonly choices: readonly CaptureChoice[];
}

/** A recording that may be of a capture. */
export interface CaptureChoice {
  readonly run: string;
  readonly worker: string;
}

/** Everything seen below the logdirs. `version` changes when anything but `looked` does. */
export interface Catalog {
  readonly version: string;
  readonly logdirs: readonly string[];
  /** a logdir that does not exist or cannot be read */
  readonly problems: readonly ErrorInfo[];
  /** the first look is not finished yet */
  readonly scanning: boolean;
  /** when the last look ended, seconds since the epoch; 0 = never */
  readonly looked: number;
  readonly runs: readonly RunInfo[];
  readonly files: readonly FileInfo[];
  /** files may be cut to the first 2,000 */
  readonly files_total: number;
}

/** A category's part of a total, and how sure that is. */
export interface CategoryShare {
  readonly category: MemoryCategory;
  /** Kind of its contents, inferred from its place of allocation and its lifetime. */
  readonly label: string;
  /** Bytes in use at the peak. */
  readonly bytes: number;
  /** Share of the peak. */
  readonly ratio: number;
  /** Confidence of most of its bytes. */
  readonly confidence: CategoryConfidence;
  /** The rule that decided most of its bytes. */
  readonly why: string;
}

/** Code that allocates, in both: at the peak of each. */
export interface ChangedSite {
  /** innermost three of the user's own; () = without a stack */
  readonly frames: readonly string[];
  /** The innermost three frames of your own code. */
  readonly site: string;
  /** New, gone, larger or smaller. */
  readonly change: SiteOutcome;
  /** Now less before. */
  readonly difference_bytes: number;
  /** Bytes in the earlier of the two. */
  readonly before_bytes: number;
  /** Bytes in the later of the two. */
  readonly after_bytes: number;
  /** Number of blocks held before. */
  readonly before_blocks: number;
  /** Number of blocks held before, and now. */
  readonly after_blocks: number;
  /** Number of its allocations in the history. */
  readonly before_allocations: number;
  /** Number of its allocations in the history. */
  readonly after_allocations: number;
  /** Median lifetime of its blocks with both ends in the history. */
  readonly before_lifetime_ns: number | null;
  /** Lifetime of its blocks before, and now: median of those with both ends in the history. */
  readonly after_lifetime_ns: number | null;
}

/** Allocations of a usual step, and calls to the device after the first. */
export interface ChurnAnswer {
  readonly allocations_per_step: number;
  readonly bytes_per_step: number;
  /** bytes allocated per step by the peak */
  readonly reuse_ratio: number | null;
  /** calls such as cudaMalloc after the first step */
  readonly device_calls: number;
  /** their time on the host */
  readonly device_ns: number;
  readonly sentence: string;
}

/**
 * The head of a column, as answers carry it; the key carries the unit (`compute_ns`).
 *
 * `kind` says what may be shortened where there is little room: the name of an op or a kernel, a
 * path; words of a few lines and text of sentences are never cut. A minor column is hidden by
 * default. An optional column has rows without a value; it is left out where all rows are. A sum
 * adds up the chosen steps: divided by their number it is `<key>_per_step`.
 */
export interface Column {
  readonly key: string;
  readonly label: string;
  readonly help: string;
  readonly kind: ColumnKind;
  readonly is_minor: boolean;
  readonly is_numeric: boolean;
  readonly is_sortable: boolean;
  readonly is_optional: boolean;
  readonly unit: ColumnUnit;
  readonly is_sum: boolean;
}

/** Allocated bytes over steps: 2.5 is the middle of the third. */
export interface CompareCurve {
  readonly at: readonly number[];
  readonly bytes: readonly number[];
  readonly steps: number;
}

/** Another recording, as the earlier of the two. */
export interface CompareQuery {
  readonly other_run: string;
  readonly other_worker: string;
  readonly other_span: string;
  readonly device?: string;
  /** of what the other file holds: an answer is of both */
  readonly other_digest?: string;
}

/** The whole recording is shown. */
export interface CompileQuery {
}

/** Facts of torch.compile. */
export interface Compiled {
  readonly headline: string;
  readonly detail: string;
  readonly versions: readonly CompiledRow[];
  readonly versions_columns: readonly Column[];
  readonly breaks: readonly BreakRow[];
  readonly breaks_columns: readonly Column[];
  readonly kernels: readonly KernelLine[];
  readonly kernels_columns: readonly Column[];
  readonly lines: readonly LineRow[];
  readonly lines_columns: readonly Column[];
  readonly eager: readonly EagerRow[];
  readonly eager_columns: readonly Column[];
  /** what is not available, and what records it; "" nothing */
  readonly missing: string;
  /** why kernels have no lines; "" they have */
  readonly no_lines: string;
}

/** One version of a compiled function. */
export interface CompiledRow {
  /** The compiled function. */
  readonly name: string;
  /** File and line of the function. */
  readonly place: string;
  /** Compile id: frame/version. Version 0 is the first. */
  readonly id: string;
  /** `first`: version 0. `again`: a further version. `refused`: the limit was met. */
  readonly kind: string;
  /** Runs of this version in the recording. */
  readonly calls: number;
  /** Host time of these runs, with what they call. */
  readonly run_ns: number;
  /** Compilation inside the recording, forward and backward. */
  readonly compile_ns: number | null;
  /** Compilation before the recording began. */
  readonly before_ns: number | null;
  /** Change since earlier versions, and the line whose guard failed. */
  readonly why: string | null;
  /** Guards of this version. */
  readonly guards: number | null;
  /** `hit`: torch took the code from a cache on disk. */
  readonly cache: string | null;
  /** the compilation, or the longest run, in the Trace view */
  readonly link: Reference | null;
}

/** The setup of the recording: label → value, in order. */
export interface Configuration {
  readonly label: string;
  readonly value: string;
}

/** Copies or sets of one direction. */
export interface CopyRow {
  /** From where to where memory is copied, or set. */
  readonly direction: string;
  /** Number in the chosen steps. */
  readonly calls: number;
  /** Sum of the durations on the device. */
  readonly total_ns: number;
  /** Bytes moved or set, of those whose size was recorded. */
  readonly total_bytes: number | null;
  /** Size divided by total. */
  readonly bandwidth_bytes_per_s: number | null;
  /** Total divided by calls. */
  readonly mean_ns: number;
  /** The longest. */
  readonly max_ns: number;
  /** As recorded. */
  readonly name: string;
  readonly longest: number;
}

/** Number of events of one kind. */
export interface Count {
  /** Kind of the events. */
  readonly label: string;
  /** Number of events, each in one row. */
  readonly count: number;
  readonly help: string;
}

/** Series of values at one level. */
export interface CountersQuery {
  readonly level: number;
  readonly tiles: string;
  readonly series: string;
}

/** The critical path of the chosen steps: by kind, and by name, the largest first. */
export interface CriticalPathAnswer {
  /** the chosen steps without start-up: the parts sum to it */
  readonly total_ns: number;
  readonly shares: readonly PathShare[];
  readonly columns: readonly Column[];
  readonly rows: readonly PathRow[];
  /** rows beyond those */
  readonly more: number;
  /** dependencies that are inferred */
  readonly inferred: number;
  /** where the inferred ones decide the answer; "" = they do not */
  readonly note: string;
}

/** One device and how well it was used; an unused device has no gauges. */
export interface DeviceCard {
  /** number shown */
  readonly index: number;
  /** row of Facts.devices, for the query */
  readonly row: number;
  /** "GPU" */
  readonly type: string;
  readonly name: string;
  readonly memory_bytes: number | null;
  /** "7.0" */
  readonly capability: string | null;
  readonly used: boolean;
  readonly gauges: readonly Gauge[];
}

/** The answer. */
export interface Diff {
  readonly outcome: Outcome;
  readonly headline: string;
  readonly detail: string;
  readonly certainty: string;
  /** what would decide it; "" where it is decided */
  readonly settle: string;
  /** the rule that decided */
  readonly reason: string;
  readonly base: DiffSide;
  readonly other: DiffSide;
  readonly division: Division;
  readonly divisions: readonly Division[];
  readonly base_ns: number;
  readonly other_ns: number;
  readonly change_ns: number;
  readonly parts_columns: readonly Column[];
  readonly parts: readonly DiffPart[];
  /** of the change, what another clock makes of it */
  readonly clock_ns: number;
  /** the clocks differ, by a factor that can be made up for */
  readonly can_equal_clocks: boolean;
  /** other ÷ base of equal kernels; null: too few of them */
  readonly clock_ratio: number | null;
  readonly mismatches: readonly DiffMismatch[];
  readonly counts_columns: readonly Column[];
  readonly counts: readonly DiffCount[];
  /** what kernels are matched by unless someone chooses */
  readonly kernels_by: KernelKey;
  /** group, or a metric of memory → why it is not there */
  readonly missing: Readonly<Record<string, string>>;
  /** steps that are far from the others of their side, and why */
  readonly outliers: readonly string[];
}

/** One box of the flame graph of both; parents come first. */
export interface DiffBox {
  readonly node: number;
  readonly parent: number;
  readonly name: string;
  readonly kind: string;
  readonly base: number;
  readonly other: number;
}

/** A number per step; `is_exact`: it repeats in every chosen step, on both sides. */
export interface DiffCount {
  readonly key: string;
  /** What is counted. */
  readonly label: string;
  readonly unit: "bytes" | "count" | "flop";
  /** Per step in A, the base. */
  readonly base: number;
  /** Per step in B. */
  readonly other: number;
  /** B less A. */
  readonly change: number;
  /** “exactly” where every chosen step of both sides counts the same, else the means are compared. */
  readonly is_exact: boolean;
}

/** Where the events of a part are, in the Trace view of each side; "" = not known. */
export interface DiffDoor {
  /** "1200-3400": a range of the timeline */
  readonly base_at: string;
  readonly other_at: string;
  /** words to search for */
  readonly find: string;
}

/** The boxes; the width of a box is the larger of its two values. */
export interface DiffFlame {
  readonly unit: "count" | "ns";
  readonly base_total: number;
  readonly other_total: number;
  readonly boxes: readonly DiffBox[];
  readonly missing: string;
}

/** The flame graph of both. */
export interface DiffFlameQuery extends DiffQuery {
  /** what the width of a box is */
  readonly metric?: FlameMetric;
  /** narrower boxes are left to "…" */
  readonly min_ratio?: number;
}

/** The chosen steps of both recordings. */
export interface DiffMarks {
  readonly base: readonly StepMarks[];
  readonly other: readonly StepMarks[];
  /** names that some step has on both sides */
  readonly phases: readonly string[];
}

/** Differences between the two recordings. */
export interface DiffMismatch {
  readonly what: string;
  readonly base: string;
  readonly other: string;
  readonly weight: "note" | "other machine" | "taints";
  readonly text: string;
}

/** One part of both steps; integers that sum to the steps. */
export interface DiffPart {
  readonly key: string;
  /** Part of the step. */
  readonly label: string;
  readonly category: string;
  readonly ghost: boolean;
  readonly help: string;
  /** Per step in A, the base. */
  readonly base_ns: number;
  /** Per step in B. */
  readonly other_ns: number;
  /** B less A. */
  readonly change_ns: number;
  /** True if the change is more than noise (Holm, 5 %): between these two recordings; from three recordings a side on, of the code. Empty with too few steps to tell. */
  readonly is_real: boolean | null;
  readonly door: DiffDoor;
}

/** The two recordings and their steps. */
export interface DiffQuery {
  /** run of the base; "" = none */
  readonly base_run?: string;
  /** its worker; "" = the same as of the trace itself */
  readonly base_worker?: string;
  /** its span; "" = the last */
  readonly base_span?: string;
  /** steps by their numbers: "3", "2-5", "1,4-6" or "all"; "" = all but warm-up and incomplete ones */
  readonly steps?: string;
  /** steps of the base; "" = all but warm-up and incomplete ones */
  readonly base_steps?: string;
  /** how a step is divided; "" = the best that both have */
  readonly seen?: "" | "classic" | "device" | "host";
  /** a smaller change of the step is none */
  readonly budget?: number;
  /** judge the other as if it had run at the clock of the base */
  readonly equal_clocks?: boolean;
}

/** One operator, kernel or module of both recordings; figures per step. */
export interface DiffRow {
  /** The name in A; after the arrow the one in B, found by its place. */
  readonly name: string;
  /** Calls per step in A, the base. */
  readonly base_calls: number;
  /** Calls per step in B. */
  readonly other_calls: number;
  /** Per step in A, the base. */
  readonly base_ns: number;
  /** Per step in B. */
  readonly other_ns: number;
  /** B less A, per step. Rows are sorted by its size. */
  readonly change_ns: number;
  /** The change divided by A. */
  readonly ratio: number | null;
  /** Differs: more than noise between these two recordings (Welch over steps, Holm 5 %), more than 1 % of the step, or of all bytes, and 1.5 % of itself. Faster, slower, more, less: the same over three recordings a side. More or fewer calls: the number repeats exactly, and makes most of the change. */
  readonly status: DiffStatus;
  /** Part of the change by the number of calls, each as long as in A. */
  readonly by_calls_ns: number;
  /** Part of the change by longer, shorter, larger or smaller calls. With the part by calls it sums to the change. */
  readonly by_speed_ns: number;
  /** B divided by the factor of the clocks of the devices, less A. */
  readonly adjusted_ns: number | null;
  /** Change of the device time that it launched itself. */
  readonly device_change_ns: number | null;
  /** Change of the measured time above the least time by each device's data sheet. */
  readonly waste_change_ns: number | null;
  /** Least FLOPs and bytes of B beside those of A: equal (within 1 %), more, less, or other (more of one, less of the other). Equal work and more waste: it became slower. */
  readonly work: string | null;
  /** Light ÷ measured time: how near to the least time by the device's data sheet. In A. */
  readonly base_light_ratio: number | null;
  /** Light ÷ measured time: how near to the least time by the device's data sheet. In B. */
  readonly other_light_ratio: number | null;
  /** Measured time − light, of work with a model of its FLOPs and bytes. In A. */
  readonly base_waste_ns: number | null;
  /** Measured time − light, of work with a model of its FLOPs and bytes. In B. */
  readonly other_waste_ns: number | null;
  /** The larger need of time by the data sheet: FLOPs or bytes. In A. */
  readonly base_bound: string | null;
  /** The larger need of time by the data sheet: FLOPs or bytes. In B. */
  readonly other_bound: string | null;
  /** The kernel of A that takes most of it. */
  readonly base_kernel: string;
  /** The kernel of B that takes most of it. */
  readonly other_kernel: string;
  /** Probability of such a change by noise alone (Welch, over steps or recordings). */
  readonly p: number | null;
  /** Where it goes by another name. */
  readonly other_name: string;
  /** Match of rows of other names: renamed, fused, split, replaced. */
  readonly relation: string;
  /** Shapes, or where it was allocated. */
  readonly detail: string;
  /** every metric of base and other */
  readonly sums: Readonly<Record<string, readonly [number, number]>>;
  /** of kernels: what tells the names from those of the other rows */
  readonly short: string;
  readonly other_short: string;
}

/** One recording of the two. */
export interface DiffSide {
  readonly run: string;
  readonly worker: string;
  readonly span: string;
  readonly label: string;
  /** "Tesla V100-SXM2-32GB", "CPU" */
  readonly device: string;
  readonly step_count: number;
  readonly mean_ns: number;
  readonly median_ns: number;
  /** half width of the 95 % interval of its median, from its own steps */
  readonly noise_ratio: number | null;
}

/** A window of the rows, and sums over all of them. */
export interface DiffTable {
  readonly columns: readonly Column[];
  readonly rows: readonly DiffRow[];
  readonly offset: number;
  readonly count: number;
  readonly sort_by: string;
  readonly group: DiffGroup;
  readonly metric: string;
  readonly base_ns: number;
  readonly other_ns: number;
  /** that this group has */
  readonly metrics: readonly string[];
  /** of kernels: what they are matched by */
  readonly kernels_by: KernelKey | null;
  /** of memory: whose, "GPU 0 · Tesla V100"; "" else */
  readonly device: string;
  /** why there is none; "" = there is */
  readonly missing: string;
}

/** A window of the table. */
export interface DiffTableQuery extends DiffQuery {
  /** what the rows are */
  readonly group?: DiffGroup;
  /** the time that is compared */
  readonly metric?: DiffMetric;
  /** keep calls of operators with other input shapes apart */
  readonly by_shape?: boolean;
  /** what kernels are matched by: their name, name and launch size, or what they are for (family, operator and shapes), or their family; "" = role where the devices differ, else name */
  readonly kernels_by?: "" | "family" | "launch" | "name" | "role";
  /** rows whose name has these words; "" = all */
  readonly search?: string;
  /** the column to sort by; "" = change_ns */
  readonly sort_by?: string;
  /** smallest first */
  readonly ascending?: boolean;
  /** rows to skip */
  readonly offset?: number;
  /** rows of the window */
  readonly limit?: number;
}

/** The ranks of a run, compared over the chosen steps. */
export interface Distributed {
  readonly headline: string;
  readonly detail: string;
  readonly ranks_columns: readonly Column[];
  /** of `DistributedRank.step` */
  readonly step_columns: readonly Column[];
  readonly ranks: readonly DistributedRank[];
  /** recordings that are there */
  readonly read: number;
  /** recordings that are still being read */
  readonly waiting: number;
  readonly world_size: number | null;
  /** ranks without a recording, in words */
  readonly missing: string;
  /** what must be known of the comparison */
  readonly notes: readonly string[];
  readonly step_count: number;
  /** sum of `cost_ns`, equal to the sum of `lost_ns` */
  readonly total_wait_ns: number | null;
  /** [last][who waited], per step; () where nobody waited */
  readonly blame: readonly (readonly number[])[];
  /** so many ranks, in their order, share a row and a column of it */
  readonly blame_ranks: number;
  readonly clocks: string;
  readonly steps: HeatColumns;
  readonly collectives: HeatColumns;
  readonly nodes_columns: readonly Column[];
  /** () for fewer than two */
  readonly nodes: readonly DistributedNode[];
  readonly groups_columns: readonly Column[];
  readonly groups: readonly DistributedGroup[];
  readonly layout: RankLayout;
  readonly table_columns: readonly Column[];
  readonly table: readonly DistributedCollective[];
  /** collectives matched in all */
  readonly count: number;
  /** calls without a counterpart */
  readonly unmatched: number;
  readonly bandwidth: readonly BandwidthPoint[];
  readonly findings: readonly DistributedFinding[];
  /** rules that could not be checked, and what they need */
  readonly unchecked: readonly string[];
  readonly pipeline_columns: readonly Column[];
  readonly pipeline: readonly PipelineStage[];
  readonly pipeline_text: string;
  /** balance of all-to-all; "" none */
  readonly experts_text: string;
  /** its error without an edit, or why there is none */
  readonly replay: string;
  readonly look_at: readonly WhoWaits[];
  /** there are logs of a hang beside the traces */
  readonly logs: boolean;
  /** figure that is missing → why */
  readonly reasons: Readonly<Record<string, string>>;
}

/** One collective, matched across ranks. */
export interface DistributedCollective {
  /** Its place among the collectives of the run, in time. */
  readonly number: number;
  /** The step of the recording in which it began. */
  readonly step: string;
  /** What it does. */
  readonly operation: string;
  /** The process group that it runs in. */
  readonly group: string;
  /** all_gather: what each rank receives in all; reduce_scatter and all_to_all: what each sends in all, of all_to_allv without its own part, the largest of any rank; gather and scatter: what the root has; else the message (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly bytes: number | null;
  /** of which it was recorded */
  readonly ranks: number;
  /** From the first to the last start of the collective. */
  readonly skew_ns: number | null;
  /** From the start of a collective on this rank until the last rank started it, at most until its end: clip(S − start, 0, end − start), S = latest start, by fitted clocks. If clocks cannot be compared: its excess over the rank with the shortest call. */
  readonly waiting_ns: number | null;
  /** From the last start to the first end, the time in which data moved: min over ranks of end − max over ranks of start. Where clocks cannot be compared, or one ends before, the shortest duration of any rank. */
  readonly transfer_ns: number | null;
  /** Size / transfer, GB/s = 10⁹ bytes a second; of several collectives the median (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly algorithm_gbs: number | null;
  /** Algorithm bandwidth × factor, for n ranks: 2(n−1)/n for all_reduce; (n−1)/n for all_gather, reduce_scatter, all_to_all, gather and scatter; 1 for broadcast, reduce, send and recv, and for all_to_allv, whose own part is not in the size. So it can be held against the hardware's figure (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly bus_gbs: number | null;
  /** The rank that started it last, of several at the same instant the first, and how many others those are. null where all started it at one instant. */
  readonly last: number | null;
  /** Other ranks that came as late. */
  readonly tied: number;
  /** Rule that matched the calls of the ranks to one collective. */
  readonly match: string;
  /** latency-bound: smaller than 256 KiB, at less than 10 % of the bus bandwidth that large ones of its group reach; bandwidth-bound: larger, at 50 % of it or more. Else nothing. */
  readonly verdict: string;
  /** from the first arrival on, on the rank that came last */
  readonly link: Reference;
}

/** One thing that was found; text between backticks is code. */
export interface DistributedFinding {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** at most, per step */
  readonly gain_ns: number | null;
  /** how the gain is reckoned */
  readonly method: string;
}

/** A process group. */
export interface DistributedGroup {
  /** The process group, as the recordings name it. */
  readonly label: string;
  /** The ranks that are in it. */
  readonly key: string;
  /** number of ranks and their distance, "8x1": a key for `roles`; "" uneven */
  readonly shape: string;
  /** groups of this shape */
  readonly alike: number;
  readonly backend: string;
  readonly size: number;
  /** Its parallelism, guessed from shape and operations unless you choose it. */
  readonly role: string;
  /** Calls of each operation, mean of the steps. */
  readonly operations: string;
  /** Sizes of its operations, added up, mean of the steps. */
  readonly bytes: number;
  /** Communication while nothing computed, mean of the group's ranks. */
  readonly exposed_ns: number;
  /** Of that, when the host had already issued the next work. */
  readonly blocking_ns: number;
  /** Its ranks without a recording. */
  readonly missing: string;
  /** why this role; "chosen" = by the user */
  readonly why: string;
  /** mean of its ranks in each column of `Distributed.steps` … */
  readonly exposed_by_step: readonly number[];
  readonly blocking_by_step: readonly number[];
  readonly note: string;
}

/** The ranks of one machine beside those of the others. */
export interface DistributedNode {
  /** The host name of the recording, else of the worker's name; without either it is not known. */
  readonly name: string;
  /** The ranks that run on it. */
  readonly ranks: string;
  readonly count: number;
  /** Step time without waiting for other ranks: its recording replayed alone. */
  readonly own_ns: number | null;
  /** Waiting time of ranks of other nodes in collectives that one of its ranks started last, per step. */
  readonly cost_ns: number;
  /** Time its ranks waited for ranks of other nodes, per step. */
  readonly lost_ns: number;
  /** Collectives over several nodes that one of its ranks started last. */
  readonly times_last: number;
  /** it is named: all its ranks are late by their own work */
  readonly is_late: boolean;
}

/** A choice of steps, and the user's changes of groups. */
export interface DistributedQuery {
  /** steps by their numbers: "3", "2-5"; "" = those that are not left out */
  readonly steps?: string;
  /** roles of groups, by ranks or shape: "0-7=tensor parallel;32x8=pipeline"; "" = guessed */
  readonly roles?: string;
  /** compare what is there while other recordings are being read */
  readonly so_far?: boolean;
}

/** One worker of the run. */
export interface DistributedRank {
  /** Name of the worker: that of its recording, without time. */
  readonly worker: string;
  /** Its number among all processes of the job. */
  readonly rank: number | null;
  /** The host name of the recording, else of the worker's name; without either it is not known. */
  readonly node: string;
  /** The number in the worker's name host_process, as our handlers and PyTorch's write it. */
  readonly process: string;
  /** Role of the process in the job, by its name or its process group. */
  readonly role: string;
  /** Why the recording takes no part in the comparison, or what else must be known of it. */
  readonly problem: string;
  /** The accelerator that it used, and its number on the host. */
  readonly device: string;
  /** Its number on the host; several of a process with several. */
  readonly device_index: string;
  /** All memory of the device. */
  readonly memory_bytes: number | null;
  /** Compute capability of the device. */
  readonly capability: string;
  /** Share of the step in which a kernel, a copy or communication ran. */
  readonly busy_ratio: number | null;
  /** Step time without waiting for other ranks: its recording replayed alone. */
  readonly own_ns: number | null;
  /** Own work before each of its collectives beyond the median of the ranks that make the same calls, added up over a step: its recording replayed alone, so no clock and no other rank's delay is in it. */
  readonly excess_ns: number | null;
  /** Waiting time of all other ranks in collectives that this rank started last, per step; if several start last together, the first counts. */
  readonly cost_ns: number | null;
  /** Of what it cost others, waiting at collectives to which it came late only because it had waited for another rank in another collective before. */
  readonly inherited_ns: number | null;
  /** row of the rank for which most of it is */
  readonly inherited_from: number | null;
  /** Time this rank waited for others in collectives, per step. */
  readonly lost_ns: number | null;
  /** Collectives that this rank started last; of ranks that started one at the same instant, the first counts. */
  readonly times_last: number | null;
  /** Later than the first rank before the first collective of the recording. */
  readonly brought_in_ns: number | null;
  /** Shorter steps without its excess of own time. */
  readonly gain_ns: number | null;
  /** Bytes received in all_to_all with recorded parts, per step of the recording. */
  readonly received_bytes: number | null;
  /** its recording takes part */
  readonly used: boolean;
  readonly step: RankStep | null;
  /** of its clock */
  readonly uncertainty_ns: number | null;
}

/** Ops outside of compiled graphs. */
export interface EagerRow {
  /** The outermost op outside of compiled graphs. */
  readonly name: string;
  /** Device activity that it and its callees launched; without a device its host time. */
  readonly total_ns: number;
  /** Share of graphs, eager ops, compilation and guards together. */
  readonly ratio: number;
  /** Calls in steps that ran compiled code. */
  readonly calls: number;
}

/** The body of every response that is not 200, 202 or 304. */
export interface ErrorAnswer {
  readonly error: ErrorInfo;
}

/** An error as the page gets it: {"error": {"kind", "message", "hint"}}. */
export interface ErrorInfo {
  readonly kind: string;
  readonly message: string;
  readonly hint: string;
}

/** A figure behind a finding, and the value it is compared with. */
export interface Evidence {
  readonly name: string;
  readonly value: number;
  /** "ns" | "ratio" | "bytes" | "count" */
  readonly unit: string;
  readonly threshold: number | null;
}

/** Why the cause in the headline has no finding, and where to look instead. */
export interface Explanation {
  readonly text: string;
  readonly links: readonly Reference[];
}

/** A window as a separate trace file. */
export interface ExportQuery extends RangeQuery {
}

/** One file below a logdir: accepted, or the reason why not. */
export interface FileInfo {
  /** relative to its logdir */
  readonly path: string;
  /** as shown to the user */
  readonly logdir: string;
  /** null: not part of a run */
  readonly run: string | null;
  readonly worker: string | null;
  readonly span: string | null;
  readonly bytes: number;
  /** seconds since the epoch */
  readonly modified: number;
  readonly state: State;
  readonly events: number | null;
  readonly read_seconds: number | null;
  readonly from_cache: boolean;
  /** "in use" | "truncated" | "waiting" | "not a trace" | …: one or two words */
  readonly verdict: string;
  /** the sentence behind the verdict, "" when in use and whole */
  readonly reason: string;
  readonly hint: string;
}

/** Matching names, kind by kind; steps are no annotations here. */
export interface FindAnswer {
  readonly kinds: readonly NamesOfKind[];
}

/** A search for names in the whole recording. */
export interface FindQuery {
  /** every word, in any case */
  readonly search: string;
  /** names of each kind */
  readonly limit?: number;
}

/** One piece of advice. Text between backticks is code. */
export interface Finding {
  /** "IN1" */
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  readonly confidence: number;
  /** evidence with number and scope, then cause, then one action */
  readonly text: string;
  readonly snippet: string;
  readonly evidence: readonly Evidence[];
  readonly gain: Gain | null;
  /** "6 of 6 steps, GPU 0" */
  readonly scope: string;
  readonly links: readonly Reference[];
  /** how to see that it worked */
  readonly verify: string;
  /** the longest of what it saw */
  readonly events: readonly SeenEvent[];
  /** the act alone, which `text` ends with; "" where there is none */
  readonly action: string;
  /** the frame of the user's code that it blames, as the recorder names it */
  readonly frame: string;
  /** What the sentence on top says where this finding is the largest; {part} stands for the share. */
  readonly headline: string;
  /** of the chosen steps, those in which it takes more than its threshold */
  readonly agreeing: number;
}

/**
 * A call tree merged by path, the larger siblings first; boxes too narrow to see are in "…".
 *
 * With a box in focus there are, beside what is below it, the boxes around it: one for each level.
 */
export interface Flame {
  /** "ns" | "count" */
  readonly unit: string;
  /** of all roots, whatever is in focus */
  readonly total: number;
  readonly nodes: readonly FlameNode[];
  /** boxes that are in "…" */
  readonly merged: number;
  /** why there is nothing to show; "" = there is */
  readonly missing: string;
  /** what threads run that only wait and are not shown */
  readonly left_out: readonly string[];
  /** siblings stand in the order of their first calls */
  readonly in_order: boolean;
}

/** The flame graph of the chosen steps. */
export interface FlameGraphQuery extends FoldedQuery {
  /** boxes by self value at the top, their callers below */
  readonly inverted?: boolean;
  /** node of the whole graph to be its root */
  readonly focus?: number | null;
  readonly min_ratio?: number;
}

/**
 * One box of a flame graph: all calls of one name below the same callers.
 *
 * Or the box "…", for all boxes inside another one that are too narrow to see, and all inside
 * those. With it, value, count and boxes of the parts sum to the whole.
 */
export interface FlameNode {
  /** row of the whole tree, to be asked for by itself; −1 of "…" */
  readonly node: number;
  /** index in the same list, −1 at the root; parents come before their children */
  readonly parent: number;
  readonly name: string;
  /** "op", "module", "compute", …: what decides its hue; "" of "…" */
  readonly kind: string;
  /** with what is below it */
  readonly value: number;
  readonly self_value: number;
  /** its calls, or slices */
  readonly count: number;
  /** how many it stands for: 1, or all that are in "…" */
  readonly boxes: number;
  /** what tells its name from the others', where that is shorter */
  readonly short: string;
  /** of compiled code: its function, or its nodes and lines */
  readonly note: string;
}

/** The call tree of an area as a flame graph. */
export interface FlameQuery extends FoldedRangeQuery {
  readonly min_share?: number;
}

/** Arrows of a slice or of a range of time; never more than the page can draw. */
export interface FlowAnswer {
  readonly arrows: readonly Arrow[];
  /** all that there are */
  readonly count: number;
}

/** Arrows of one slice. */
export interface FlowsQuery {
  readonly slice: number;
  readonly hops?: number;
  readonly layout?: LayoutName;
}

/** The calls of the chosen steps by path: as folded stacks, a flame graph, a sandwich. */
export interface FoldedQuery {
  readonly steps?: string;
  readonly metric?: FlameMetric;
  /** kinds of frames that are kept */
  readonly levels?: string;
  /** with threads that only wait */
  readonly waiting?: boolean;
}

/** The call tree of an area as folded stacks. */
export interface FoldedRangeQuery extends RangeQuery {
  readonly metric?: "count" | "total";
}

/** Reserved and free memory over time: unusable for a large request, or the largest piece. */
export interface FreeMemoryAnswer {
  /** of free bytes */
  readonly curve: MemoryCurve;
  /** where most is unusable */
  readonly worst_ns: number;
  readonly columns: readonly Column[];
  /** at that instant, the most unusable first */
  readonly pools: readonly FreePool[];
  readonly sentence: string;
  /** why there is nothing; "" = there is */
  readonly missing: string;
}

/** Segments that serve the same requests, at the worst instant. */
export interface FreePool {
  /** Segments that the allocator keeps for requests of one kind. */
  readonly name: string;
  /** Private pool, mostly of a CUDA graph. */
  readonly is_private: boolean;
  /** Bytes that the pool holds on the device. */
  readonly reserved_bytes: number;
  /** Of these, bytes that no block is in. */
  readonly free_bytes: number;
  /** The largest free piece: a larger request needs new memory. */
  readonly largest_bytes: number;
  /** Free bytes outside of the largest piece. */
  readonly unusable_bytes: number;
  /** Number of free pieces. */
  readonly pieces: number;
}

/**
 * The upper limit of a gain, not a promise.
 *
 * Ceilings of several findings must not be added: `shared_ns_per_step` is what findings above
 * this one claim already.
 */
export interface Gain {
  readonly ns_per_step: number;
  readonly ratio: number;
  /** how the ceiling was formed */
  readonly method: string;
  /** What it claims: fields of Partition or HostPartition, or "pattern 3" for row 3 of Patterns. */
  readonly claims: readonly string[];
  readonly shared_ns_per_step: number;
}

/** One figure of the GPU summary. `ratio` null: not available, with the `reason`. */
export interface Gauge {
  readonly key: string;
  readonly label: string;
  readonly ratio: number | null;
  readonly reason: string;
  readonly help: string;
}

/** One graph. */
export interface GraphPage {
  readonly headline: string;
  readonly detail: string;
  readonly row: GraphRow;
  readonly waits_columns: readonly Column[];
  readonly waits: readonly InsideWait[];
  readonly waits_count: number;
  /** of the replays; the ratio is to the median */
  readonly quantiles: readonly SharePart[];
  /** the longest */
  readonly replays: readonly GraphReplay[];
  /** empty where nothing is lent; sums to the kernels */
  readonly ops: readonly LentOp[];
  readonly ops_count: number;
  readonly capture: Capture;
  readonly missing: Readonly<Record<string, string>>;
}

/** One graph, and the recording of its capture. */
export interface GraphQuery {
  /** of a row of the table by graph */
  readonly key: string;
  readonly steps?: string;
  readonly device?: string;
  /** "" = found by its name */
  readonly capture_run?: string;
  readonly capture_worker?: string;
}

/** One replay, with its place on the timeline. */
export interface GraphReplay {
  /** of the launch, or of the first work where none is recorded */
  readonly slice: number;
  readonly ts: number;
  readonly dur_ns: number;
  /** inside */
  readonly idle_ns: number;
  readonly nodes: number;
  readonly step: string;
  readonly batch: number | null;
}

/** One graph with its replays in the chosen steps; a replay is the work of one launch. */
export interface GraphRow extends KernelRow {
  /** The graph's id as recorded. */
  readonly number: number | null;
  /** Device of the graph. */
  readonly device: string | null;
  /** The batch size that a range around the launch names, as `execute_32_…` of vLLM, `bs=32` of SGLang, `capture_32_…` do. */
  readonly batch: string | null;
  /** Number of launches in the chosen steps. */
  readonly replays: number | null;
  /** Kernels, copies, sets, calls of the host and recorded events of its largest replay. */
  readonly nodes: number | null;
  /** Mean length of a kernel, copy or set of its replays. */
  readonly node_ns: number | null;
  /** The shortest replay, from the start of its first work to the end of its last. */
  readonly replay_min_ns: number | null;
  /** Half of the replays take no longer. */
  readonly replay_p50_ns: number | null;
  /** 95 % of the replays take no longer. */
  readonly replay_p95_ns: number | null;
  /** The longest replay, from the start of its first work to the end of its last. */
  readonly replay_max_ns: number | null;
  /** Sum of its replays, each from the start of its first work to the end of its last. */
  readonly replay_ns: number | null;
  /** Time within its replays in which none of their work ran. */
  readonly inside_idle_ns: number | null;
}

/** The test for a leak. */
export interface GrowthAnswer {
  readonly verdict: "leak" | "none" | "not known";
  readonly bytes_per_step: number;
  /** of the differences from step to step */
  readonly rising: number;
  /** that count: without warm-up and unfinished ones */
  readonly steps: number;
  readonly sentence: string;
}

/** Result of the hang logs beside the traces. */
export interface HangAnswer {
  readonly sentence: string;
  readonly detail: string;
  readonly notes: readonly string[];
  readonly rows: readonly HangRow[];
  readonly ranks: number;
}

/** No parameters. */
export interface HangQuery {
}

/** A collective that did not end. */
export interface HangRow {
  readonly group: string;
  readonly operation: string;
  readonly sequence: number;
  readonly problem: string;
  readonly missed: string;
  readonly waiting: string;
  readonly no_log: string;
  readonly part_of_log: string;
  readonly place: string;
}

/** Free part of the device at the highest reserved total. */
export interface HeadRoom {
  readonly capacity_bytes: number;
  readonly reserved_bytes: number;
  readonly free_bytes: number;
  /** reserved by capacity */
  readonly ratio: number;
  readonly sentence: string;
}

/** The answer. */
export interface Health {
  readonly sentence: Sentence;
  /** worst first */
  readonly notes: readonly Note[];
  readonly counts_columns: readonly Column[];
  /** what was read: ops, kernels, …; sums to the events of the file */
  readonly counts: readonly Count[];
  readonly file_bytes: number;
  readonly text_bytes: number;
  /** a recording that fills every gap; none for a file of another recorder */
  readonly snippet: readonly SnippetLine[];
  readonly answers_columns: readonly Column[];
  readonly answers: readonly Answerable[];
  /** label → value of what the file says about itself */
  readonly recording: Readonly<Record<string, string>>;
  /** what the user added: add_metadata, add_metadata_json */
  readonly user: readonly UserValue[];
  /** values beyond those */
  readonly user_more: number;
}

/** No parameters. */
export interface HealthQuery {
}

/** A heat map: columns, and per metric the rows of all ranks. */
export interface HeatColumns {
  /** "12", or "all_reduce" */
  readonly columns: readonly string[];
  /** "1.50 MiB" */
  readonly details: readonly string[];
  readonly waiting: readonly RankCell[];
  /** own work before arrival beyond its peers'; () not available */
  readonly own: readonly RankCell[];
  /** behind the first; () not available */
  readonly start: readonly RankCell[];
  /** each column in Trace */
  readonly links: readonly Reference[];
}

/** The hit before or after an instant (or a slice) in order of time. */
export interface HitQuery {
  readonly text: string;
  readonly mode?: "exact" | "regex" | "text";
  readonly slice?: number;
  readonly ts?: number;
  readonly direction?: "next" | "previous";
  readonly tracks?: string;
  readonly layout?: LayoutName;
}

/** Code that held memory as an allocation failed. */
export interface HolderOfMemory {
  /** "train.py(12): step"; "" without a stack */
  readonly line: string;
  readonly bytes: number;
  readonly blocks: number;
}

/** A figure about the chosen device and its launches, with its meaning. */
export interface IdleFigure {
  /** The counted or measured quantity. */
  readonly label: string;
  /** Its figure, with the unit. */
  readonly value: string;
  /** What it means. */
  readonly help: string;
}

/** One of the longest stretches in which the chosen device was idle. */
export interface IdleGap {
  /** The number of the step in which it lies. */
  readonly step: string;
  /** Time without device work. */
  readonly dur_ns: number;
  /** Cause of most of the gap; the rest has other causes. */
  readonly cause: string;
  /** The part of the gap that has this cause. */
  readonly cause_ns: number;
  /** The event that held the device longest in the gap. */
  readonly held: string;
  /** Time as the innermost open event, in the gap. */
  readonly held_ns: number;
  /** The op around that event. */
  readonly op: string;
  /** The innermost line of your code around it, else of any code; needs recorded stacks. */
  readonly frame: string;
  /** The work that ended the gap. */
  readonly following: string;
  /** From the start of the trace. */
  readonly start_ns: number;
  /** colour of that cause */
  readonly category: string;
  /** into the Trace view */
  readonly link: Reference;
}

/** The chosen steps and device, and a part of the flame graph. */
export interface IdleQuery {
  /** as in the Overview */
  readonly steps?: string;
  /** "" = the busiest */
  readonly device?: string;
  /** narrower boxes are in "…" */
  readonly min_ratio?: number;
  /** the box to show by itself; null = all */
  readonly focus?: number | null;
}

/** The version of this program, and its views. */
export interface Info {
  readonly version: string;
  /** version and commit, for people */
  readonly release: string;
  /** key of the answers' types, to be held against the page's own */
  readonly contract: string;
  /** "python" | "native" */
  readonly reader: string;
  /** "tensorboard" | "standalone" */
  readonly host: string;
  readonly vscode: boolean;
  /** api/report makes one file of a trace */
  readonly saves: boolean;
  /** the registry, in tab order */
  readonly views: readonly ViewInfo[];
  /** the three lines to paste into a training loop */
  readonly recipe: string;
}

/** Idle time inside replays by the awaited node; all rows sum to the idle time. */
export interface InsideWait {
  /** The idle time inside replays by the dependency that the next node waited for: the one that ended last. Up to its end a call of the host holds the device; after it is the launch inside the graph. */
  readonly kind: WaitKind;
  /** The node that was waited for. */
  readonly name: string;
  /** Number of nodes of that name that were waited for. */
  readonly nodes: number;
  /** Place of the node, if it is one. */
  readonly place: number | null;
  /** Idle time inside replays while it was waited for. */
  readonly idle_ns: number;
  /** Share of all idle time inside replays. */
  readonly ratio: number;
  /** Number of idle stretches. */
  readonly count: number;
  /** Yes where no dependency was recorded and the order of time stands in. */
  readonly inferred: boolean;
  /** slice of what ran after the longest stretch */
  readonly longest: number;
}

/** From the slice that let the others go on (its start) to one of them (its end). */
export interface JoinedArrow {
  readonly operation: string;
  readonly group: string;
  /** 0 = the trace that is asked for, then the workers as they were named */
  readonly start_source: number;
  readonly start: JoinedEnd;
  readonly end_source: number;
  readonly end: JoinedEnd;
  /** between the first and the last start, of all ranks that are compared */
  readonly skew_ns: number | null;
  /** "rank 3", the last of them, shown or not; "" nobody waits for the last */
  readonly last: string;
}

/** Collectives of a window, joined across the workers. */
export interface JoinedCollectives {
  readonly arrows: readonly JoinedArrow[];
  /** collectives in the window … */
  readonly count: number;
  /** … and how many of them have arrows: those with most between first and last start */
  readonly joined: number;
}

/** The slice of a collective on one worker; times are its own. */
export interface JoinedEnd {
  readonly slice: number;
  readonly track: number;
  /** within the track */
  readonly lane: number;
  readonly ts: number;
  readonly dur: number;
}

/** A window of the axis on which they are shown. */
export interface JoinedQuery extends AxisQuery {
  /** ns to add to the times of each: "-12,34" */
  readonly offsets: string;
  readonly start_ns: number;
  readonly end_ns: number;
  /** of the Trace view */
  readonly layout?: string;
}

/** The parts of a row: the largest of each, and how many there are in all. */
export interface KernelDetails {
  readonly row: KernelRow;
  readonly ops: readonly OpOfKernel[];
  readonly ops_count: number;
  /** its distinct grids, blocks, registers */
  readonly launches: readonly KernelRow[];
  readonly launches_count: number;
  /** of `row.calls` */
  readonly slowest: readonly SlowCall[];
  /** lines of the user's code in a fused kernel; "" not recorded, or no such one */
  readonly fused_lines: string;
}

/** A fused kernel with a node and lines. */
export interface KernelLine {
  /** Name of the kernel. */
  readonly kernel: string;
  /** Compile id of its graph. */
  readonly version: string;
  /** Forward or backward. */
  readonly direction: string;
  /** Operations fused into it. */
  readonly nodes: string;
  /** Lines of your code, each once. */
  readonly lines: string;
  /** Launches in the recording; on the CPU, its events. */
  readonly calls: number;
  /** Sum of their durations. */
  readonly total_ns: number;
}

/** A choice of kernels, and their grouping. */
export interface KernelQuery {
  /** steps by their numbers: "3", "2-5", "1,4-6"; "all", or "everything" that is recorded, outside of steps too; "" = all but warm-up and cut-off steps */
  readonly steps?: string;
  /** what kernels of one row have in common */
  readonly group_by?: KernelGroupBy;
  /** device by its number or key: "0", "cuda:0", "hip:1"; "" = all */
  readonly device?: string;
  /** kernels whose name has these words; "" = all */
  readonly search?: string;
  /** kernels whose operator's name has these words; "" = all */
  readonly search_op?: string;
  /** the column to sort by; "" = total_ns */
  readonly sort_by?: string;
  /** smallest first */
  readonly ascending?: boolean;
  /** key of a graph whose nodes are shown, too; "" = none */
  readonly graph?: string;
  /** run of the recording of its capture, which lends operators to the nodes; "" = one beside this trace whose name says so */
  readonly capture_run?: string;
  /** worker of that run; "" = all of the same rank */
  readonly capture_worker?: string;
  /** rows to skip */
  readonly offset?: number;
  /** rows of the window */
  readonly limit?: number;
}

/** All kernels of one group; means of blocks and occupancy are weighted by duration. */
export interface KernelRow {
  readonly key: string;
  /** The kernel, class, module, frame of your code or graph; one row for each. */
  readonly name: string;
  /** the name as far as it differs from others */
  readonly short: string;
  /** The operator that launched it. */
  readonly op: string | null;
  /** True if the op it is credited to may run on tensor cores: matrix products, convolutions, attention. */
  readonly op_eligible: boolean | null;
  /** Blocks of the launch. */
  readonly grid: string | null;
  /** Threads of a block. */
  readonly block: string | null;
  /** Registers per thread. */
  readonly registers: number | null;
  /** Shared memory per block. */
  readonly shared_bytes: number | null;
  /** Purpose, by rules over names that a file of yours may extend. */
  readonly kernel_class: string;
  /** Number of launches in the chosen steps. */
  readonly calls: number;
  /** Sum of the durations on the device. */
  readonly total_ns: number;
  /** Share of the durations of all chosen kernels. */
  readonly ratio: number;
  /** Total divided by calls. */
  readonly mean_ns: number;
  /** The shortest. */
  readonly min_ns: number;
  /** Half of them take no longer. */
  readonly p50_ns: number;
  /** 95 % of them take no longer. */
  readonly p95_ns: number;
  /** The longest. */
  readonly max_ns: number;
  /** Mean blocks per multiprocessor, weighted by duration. Below 1, some multiprocessors have nothing to do. */
  readonly blocks_per_sm: number | null;
  /** Light ÷ measured time: how near to the least time by the device's data sheet. */
  readonly light_ratio: number | null;
  /** Measured time − light, of work with a model of its FLOPs and bytes. */
  readonly waste_ns: number | null;
  /** The larger need of time by the data sheet: FLOPs or bytes. */
  readonly bound: string | null;
  /** Mean estimated achieved occupancy: warps on a multiprocessor of those it can hold, weighted by duration. The recorder computes it from grid, block, registers and shared memory. */
  readonly occupancy_percent: number | null;
  /** Yes if its name shows tensor cores; unknown where the name does not say. Kernels that move data are no candidates. */
  readonly tensor_core: MatrixUseName;
  /** Mean time from the start of the launching call to the start on the device. */
  readonly launch_ns: number | null;
  /** Mean time from the end of the launching call to the start on the device: the wait for work that was launched before. */
  readonly queue_ns: number | null;
  /** ∫ power dt while kernels of the row run. Mean over samples, each of which holds until the next; needs samples for 80 % of the time. Kernels shorter than the time between samples share them with their neighbours. Kernels that run at the same time share the device; each row gets all of it. */
  readonly energy_j: number | null;
  /** Mean power of the board while they run. Mean over samples, each of which holds until the next; needs samples for 80 % of the time. Kernels shorter than the time between samples share them with their neighbours. Kernels that run at the same time share the device; each row gets all of it. */
  readonly power_w: number | null;
  /** Mean clock of the multiprocessors while they run. Mean over samples, each of which holds until the next; needs samples for 80 % of the time. Kernels shorter than the time between samples share them with their neighbours. */
  readonly sm_clock_mhz: number | null;
  /** Multiprocessors with at least one warp, counted by the device. Mean over samples, each of which holds until the next; needs samples for 80 % of the time. Kernels shorter than the time between samples share them with their neighbours. */
  readonly sm_active_percent: number | null;
  /** Traffic of the device's memory, counted by the device, as a share of its peak. Mean over samples, each of which holds until the next; needs samples for 80 % of the time. Kernels shorter than the time between samples share them with their neighbours. */
  readonly dram_percent: number | null;
  /** Measured, not estimated from shapes: DRAM at 60 % of its peak or more while 80 % of the multiprocessors or more are active, by 20 samples or more. */
  readonly memory_bound: boolean;
  /** Ops fused into a generated kernel. */
  readonly fused: string;
  /** File that holds the generated kernel. */
  readonly source: string;
  /** Link from the kernel to its operator. */
  readonly link: string;
  /** The rule that gave the class. */
  readonly class_why: string;
  /** slice id */
  readonly longest: number;
}

/** One row whose details are shown. */
export interface KernelRowQuery {
  readonly key: string;
  readonly steps?: string;
  readonly group_by?: "class" | "line" | "module" | "name" | "properties";
  readonly device?: string;
}

/** A window of the rows, and the sums of all that match; grouped by graph they are GraphRows. */
export interface KernelTable {
  readonly columns: readonly Column[];
  readonly rows: readonly KernelRow[];
  readonly offset: number;
  readonly count: number;
  readonly calls: number;
  readonly total_ns: number;
  readonly sort_by: string;
  /** that sums add up; 0 = more is counted than steps */
  readonly step_count: number;
}

/** The kernels of the chosen steps. */
export interface Kernels {
  readonly headline: string;
  readonly detail: string;
  readonly step_count: number;
  /** sum of kernels; with copies_ns the whole device time */
  readonly kernel_ns: number;
  readonly copies_ns: number;
  /** the largest by name */
  readonly kernels: readonly SharePart[];
  /** all, "unclassified" last */
  readonly classes: readonly SharePart[];
  /** "yes", "no", "unknown", "none" → ns; sums to kernel_ns */
  readonly tensor_core: Readonly<Record<string, number>>;
  /** what the vendor calls them: "Tensor cores", "Matrix cores" */
  readonly cores_name: string;
  readonly table: KernelTable;
  readonly copies_columns: readonly Column[];
  readonly copies: readonly CopyRow[];
  /** the graph that was asked for */
  readonly graph: GraphPage | null;
  readonly nodes: NodeTable | null;
  readonly devices: readonly string[];
  readonly missing: Readonly<Record<string, string>>;
  readonly definitions: Readonly<Record<string, string>>;
}

/** Missing data, how to record it, and the rules that need it. */
export interface Lacking {
  readonly needs: string;
  readonly rules: readonly RuleName[];
}

/** From the call to the kernel: three durations that touch. */
export interface LaunchDelay {
  /** the call itself */
  readonly launch_ns: number;
  /** from the end of the call to the start on the device; negative = it overlaps */
  readonly queued_ns: number;
  readonly run_ns: number;
}

/** The kernels of one name that a row launched itself. */
export interface LaunchedKernel {
  readonly name: string;
  readonly calls: number;
  readonly total_ns: number;
  readonly mean_ns: number;
  /** slice id */
  readonly longest: number;
  /** what tells its name from the others' */
  readonly short: string;
}

/** One kind of parallelism. */
export interface LayoutAxis {
  /** "TP"; "other" where groups do not tell ranks apart */
  readonly name: string;
  readonly size: number;
}

/** The place of a rank along each axis. */
export interface LayoutCell {
  readonly rank: number;
  /** of `Distributed.ranks`; null: without a recording */
  readonly row: number | null;
  readonly place: readonly number[];
}

/** A layout, for the manifest and for every answer that names tracks. */
export interface LayoutQuery {
  /** split: Python frames have tracks of their own below the ops of their thread; merged: both together, as recorded; filtered: split, without the frames of frameworks. -folded: nodes of replayed graphs by what they do, -recorded: each on its stream; without, folded where a device has more than eight such streams */
  readonly layout?: LayoutName;
}

/** Blocks of one op, module, line and size, allocated in step after step and never released. */
export interface LeakSite {
  readonly name: string;
  readonly module: string;
  readonly line: string;
  /** of one */
  readonly bytes: number;
  readonly count: number;
  readonly steps: number;
  readonly block: number;
  readonly slice: number | null;
}

/** Kernel time by the operator that a capture-time recording lends; "" = not found there. */
export interface LentOp {
  readonly name: string;
  /** of one replay */
  readonly kernels: number;
  readonly total_ns: number;
  readonly ratio: number;
}

/** A line of the user, with its part of fused kernels. */
export interface LineRow {
  /** A line of your code. */
  readonly place: string;
  /** Time of fused kernels; a kernel's is split evenly over its lines. */
  readonly total_ns: number;
  /** Share of the time of all fused kernels. */
  readonly ratio: number;
  /** Fused kernels with this line, by name and graph. */
  readonly kernels: number;
}

/** The addresses of a device. */
export interface MapQuery {
  readonly device?: string;
}

/** Tiles of the address map at one level. */
export interface MapTilesQuery {
  readonly device?: string;
  /** log2 of ns per bucket */
  readonly level?: number;
  /** log2 of bytes per row */
  readonly row_level?: number;
  /** time tile and row tile of each: "0.0,1.0"; at most 8 */
  readonly tiles?: string;
}

/** The counters of the chosen device over the chosen steps. */
export interface Measured {
  readonly columns: readonly MeasuredColumn[];
  /** the mean step, and its parts: their energy sums to its */
  readonly parts: readonly MeasuredRow[];
  /** every chosen step */
  readonly steps: readonly MeasuredRow[];
  /** "7 counters, sampled every 250 µs to 1.00 ms" */
  readonly sampled: string;
  /** what to know of these figures */
  readonly notes: readonly string[];
}

/** A figure of one row; `value` null: samples cover too little of it. */
export interface MeasuredCell {
  readonly value: number | null;
  /** share of its time that samples cover */
  readonly covered: number;
}

/** One figure made of a counter. */
export interface MeasuredColumn {
  /** "energy", "power", "sm_clock", …; unique */
  readonly key: string;
  readonly label: string;
  /** "J" | "W" | "MHz" | "°C" | "%" | "B" | "B/s"; "" where the file does not say */
  readonly unit: string;
  readonly help: string;
}

/** The mean step, one of its parts, or one step; a cell null: not asked of such a row. */
export interface MeasuredRow {
  /** "step", a field of `Partition`, or the index of a step */
  readonly key: string;
  readonly label: string;
  /** colour; "" for steps */
  readonly category: string;
  readonly ghost: boolean;
  readonly ns: number;
  readonly cells: readonly (MeasuredCell | null)[];
}

/** A device's memory over a range. */
export interface Memory {
  /** what fills the peak */
  readonly headline: string;
  /** what would lower it most */
  readonly detail: string;
  /** key of the device shown */
  readonly device: string;
  readonly devices_columns: readonly Column[];
  readonly devices: readonly MemoryDeviceRow[];
  /** of the range */
  readonly start_ns: number;
  readonly end_ns: number;
  readonly recording_end_ns: number;
  /** () where none is marked */
  readonly steps: readonly StepMark[];
  readonly peak: MemoryPeak;
  /** what would be the peak if the first were lowered; in its step */
  readonly second: MemoryPeak | null;
  readonly without_columns: readonly Column[];
  /** the largest gain first */
  readonly without: readonly WithoutCategory[];
  readonly head_room: HeadRoom | null;
  readonly growth: GrowthAnswer;
  readonly churn: ChurnAnswer;
  readonly curve: MemoryCurve;
  readonly statistics: StatisticsTable;
  readonly events: MemoryEventTable;
  /** category → label, bottom to top of the stack */
  readonly categories: Readonly<Record<string, string>>;
  /** the most bytes first; () where blocks are not known */
  readonly rules: readonly AppliedRule[];
  /** of a memory snapshot; null: no allocation failed */
  readonly failure: MemoryFailure | null;
  /** names are those of lines of code instead of ops; there are segments */
  readonly is_snapshot: boolean;
  readonly missing: Readonly<Record<string, string>>;
}

/** Two recordings of memory; the differences of all sites sum to that of the peaks exactly. */
export interface MemoryComparison {
  readonly sentence: string;
  /** peak */
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly columns: readonly Column[];
  /** the largest difference first */
  readonly sites: readonly ChangedSite[];
  readonly before: CompareCurve;
  readonly after: CompareCurve;
}

/**
 * A staircase: a point holds until the next one. The ends of the range are points.
 *
 * Layers come from the bottom to the top and sum to `allocated` at every point. Of many events
 * those stay that are seen: no peak is lost.
 */
export interface MemoryCurve {
  readonly device: string;
  readonly start_ns: number;
  readonly end_ns: number;
  readonly ts: readonly number[];
  readonly allocated: readonly number[];
  /** null: not recorded */
  readonly reserved: readonly number[] | null;
  /** () where blocks are not known, or only the total is wanted */
  readonly layers: readonly MemoryLayer[];
  /** totals are not recorded: it is the change since the recording began */
  readonly is_change: boolean;
  /** allocations and releases of the range */
  readonly events: number;
  /** every event of the range is a point */
  readonly is_exact: boolean;
  /** the highest point of the range */
  readonly peak_ns: number;
  readonly peak_bytes: number;
}

/** One counter of allocated bytes that the recording has. */
export interface MemoryDeviceRow {
  /** Names the device in `--device`, as its number does. */
  readonly key: string;
  /** "GPU 0 · Tesla V100-SXM2-32GB", "CPU". */
  readonly label: string;
  /** "cuda", "hip", "xpu", "mps", "privateuse1", "cpu" … */
  readonly type: string;
  /** Allocations and releases that were recorded. */
  readonly events: number;
  /** Most bytes in use, as the allocator counted them at each allocation and release. */
  readonly peak_bytes: number | null;
  /** Most bytes that the allocator held on the device, in use or ready for use. */
  readonly peak_reserved_bytes: number | null;
  /** Memory of the device, by the `deviceProperties` of the file. */
  readonly capacity_bytes: number | null;
  /** releases are known to belong to allocations */
  readonly has_blocks: boolean;
  /** "totals", "reserved", "capacity", "blocks", "before" → why not */
  readonly missing: Readonly<Record<string, string>>;
}

/** A window of the blocks with an end in a range. */
export interface MemoryEventQuery extends MemoryRange {
  readonly search?: string;
  readonly min_bytes?: number;
  readonly max_bytes?: number | null;
  readonly category?: MemoryCategory | null;
  readonly sort_by?: string;
  readonly ascending?: boolean;
  readonly offset?: number;
  readonly limit?: number;
}

/** One block with an end in the range; times outside of the range are null. */
export interface MemoryEventRow {
  /** names it in a `block` request */
  readonly block: number;
  /** The op that ran on the thread of the event. `aten::empty` is shown with the op that called it, as `aten::ones (aten::empty)`. */
  readonly name: string;
  /** Size of the block. */
  readonly bytes: number;
  /** When it was allocated; nothing if that is outside of the range. */
  readonly allocated_ns: number | null;
  /** When it was released; nothing if that is outside of the range. */
  readonly released_ns: number | null;
  /** From its allocation to its release, if both are in the range. */
  readonly alive_ns: number | null;
  /** When it was allocated, in the range or not; nothing if before the recording. */
  readonly life_start_ns: number | null;
  /** When it was released, in the range or not; nothing if not in the recording. */
  readonly life_end_ns: number | null;
  /** Kind of its contents, inferred from its place of allocation and its lifetime. */
  readonly category: MemoryCategory;
  /** The innermost module around its op; of a backward op, that of the forward op. */
  readonly module: string;
  /** The innermost function of your own code around the allocation, by the line where it begins: torch records no other. */
  readonly line: string;
  /** of the op on the timeline */
  readonly slice: number | null;
}

/** A window of the rows, and what all that match come to. */
export interface MemoryEventTable {
  readonly columns: readonly Column[];
  readonly rows: readonly MemoryEventRow[];
  readonly offset: number;
  /** that match */
  readonly count: number;
  /** of all that match */
  readonly bytes: number;
  /** of the device's blocks: the classic table began at a quarter of it */
  readonly largest_bytes: number;
  /** why there is none; "" = it is known */
  readonly missing: string;
}

/** The last failed allocation of the device, explained. */
export interface MemoryFailure {
  readonly ts: number;
  readonly requested_bytes: number;
  readonly sentence: string;
  /** of the history */
  readonly failures: number;
  /** the three that held most */
  readonly holders: readonly HolderOfMemory[];
}

/** One layer of the stack, as long as the curve. */
export interface MemoryLayer {
  /** a category; a module or a line, or "" for everything else */
  readonly key: string;
  readonly label: string;
  /** at each point of the curve */
  readonly values: readonly number[];
}

/** A highest total; the categories sum to it. */
export interface MemoryPeak {
  readonly ts: number;
  readonly bytes: number;
  readonly reserved_bytes: number | null;
  /** "" outside of steps */
  readonly step: string;
  /** the largest first; () where blocks are not known */
  readonly categories: readonly CategoryShare[];
}

/** The curve over a range, and a window of its tables. */
export interface MemoryQuery extends MemoryRange {
  /** what the curve is divided by */
  readonly by?: LayerBy;
  /** points of the curve, about */
  readonly points?: number;
  /** ops whose name has these words; "" = all */
  readonly search?: string;
  /** rows of each table */
  readonly limit?: number;
}

/** A device and a range of time. */
export interface MemoryRange {
  /** device by its number or key: "0", "cuda:0", "hip:1", "cpu"; "" = the first accelerator, else the host */
  readonly device?: string;
  /** steps by their numbers, from the first of them to the last: "3", "2-5"; "all", or "everything" that is recorded; "" = all but warm-up and cut-off steps */
  readonly steps?: string;
  /** start of the range; goes before steps */
  readonly start_ns?: number | null;
  /** end of the range; goes before steps */
  readonly end_ns?: number | null;
}

/** Busy share of every track over the whole trace, in this many columns. */
export interface MinimapQuery {
  readonly columns?: number;
  readonly layout?: LayoutName;
}

/** A flame graph of modules. */
export interface ModuleFlameQuery {
  readonly steps?: string;
  /** of device, ops, calls on the host, or idle time before them */
  readonly metric?: ModuleMetric;
  /** module; -1 = all roots */
  readonly root?: number;
  readonly focus?: number | null;
  readonly min_ratio?: number;
}

/** A part of all device time, or of all time of ops. */
export interface ModulePart {
  /** "modules", "communication", "optimizer", … */
  readonly key: string;
  /** Modules, and what belongs to none by reason. */
  readonly name: string;
  /** Sum of durations. */
  readonly ns: number;
  /** Share of all parts. */
  readonly ratio: number;
  readonly help: string;
}

/**
 * One module with the modules inside it; or several siblings of equal structure in one row.
 *
 * Times "total" include the modules inside. `total_ns` is the time that the view is about
 * (`Modules.time`): of the device, or of ops where no device was recorded; it is the sum of
 * forward, backward and recompute.
 */
export interface ModuleRow {
  /** asks for what is inside, as `below` */
  readonly key: string;
  /** key of the row around it; "" at a root */
  readonly parent: string;
  /** The instance as the recording names it, or its name in the model. “× 4” means four siblings of equal type and structure. */
  readonly name: string;
  /** Number of calls in the forward pass. */
  readonly calls: number;
  /** Ops in it and in the modules inside it; an op inside another op of the module does not count. */
  readonly ops: number;
  /** Device time of what it and the modules inside it launched: forward + backward + recompute. A sum of durations: kernels that run side by side count each. Without device activity, the self time of ops on the host. */
  readonly total_ns: number;
  /** Total without the modules inside it. */
  readonly self_ns: number;
  /** Time with device work of it or of the modules inside it; parallel kernels count once on each device and in each step. Sum over siblings. */
  readonly busy_ns: number | null;
  /** Part of the total in the forward pass. */
  readonly forward_ns: number;
  /** Part of the total that autograd ran for the ops of the forward pass. */
  readonly backward_ns: number;
  /** Part of the total in calls inside the backward pass, as activation checkpointing makes them. */
  readonly recompute_ns: number;
  /** Share of the time of all modules. */
  readonly ratio: number;
  /** Of a compiled function: its versions, their runs in the recording, what compiling took, and what changed when it was compiled again. */
  readonly compiled: string | null;
  /** Length of its calls in the forward pass, on the host. */
  readonly host_total_ns: number;
  /** Host total without the calls of modules inside it. */
  readonly host_self_ns: number;
  /** A device was idle, and its next work belongs to this module or to one inside it. */
  readonly idle_ns: number | null;
  /** Kernels, copies and sets that it launched, with the modules inside it. */
  readonly kernels: number | null;
  /** Number of calls inside the backward pass. */
  readonly recompute_calls: number;
  /** Length of its calls inside the backward pass, on the host. */
  readonly host_recompute_ns: number;
  /** Mean length of a call in the forward pass, on the host. */
  readonly mean_ns: number | null;
  /** Own time of ops and of runtime calls on the host, forward, backward and recompute, with the modules inside it. */
  readonly op_total_ns: number;
  /** Floating point operations of its ops by models of ops and shapes, forward, backward and recompute, with the modules inside it. Ops without a model count nothing; of nested ops with a model the innermost counts. */
  readonly flops: number | null;
  /** Model FLOPs ÷ (device time · peak), with the modules inside it. FLOPs that activation checkpointing computes again do not count. Kernels without a model count as time alone, so it is a lower bound. */
  readonly mfu_ratio: number | null;
  /** Light ÷ measured time: how near to the least time by the device's data sheet. */
  readonly light_ratio: number | null;
  /** Measured time − light, of work with a model of its FLOPs and bytes. */
  readonly waste_ns: number | null;
  /** Allocated by its ops and those of the modules inside it, forward, backward and recompute: on accelerators, or on the host where none allocated. */
  readonly born_bytes: number | null;
  /** Memory allocated in its calls and not released when the innermost call ends: results, and tensors kept for the backward pass. */
  readonly kept_bytes: number | null;
  /** Number of siblings of equal structure in the row. */
  readonly members: number;
  /** Total of the smallest sibling. */
  readonly least_ns: number | null;
  /** Median total of the siblings. */
  readonly median_ns: number | null;
  /** Total of the largest sibling. */
  readonly most_ns: number | null;
  /** Of three siblings or more, the one farthest from their median: by more than 3.5 deviations and 5 %. */
  readonly outlier: string | null;
  /** Its class, where it is known. */
  readonly type: string;
  /** Its name in `named_modules()`. */
  readonly qualified: string | null;
  /** Names from the root on. */
  readonly path: string;
  /** Number of modules around it. */
  readonly depth: number;
  /** rows directly inside it */
  readonly inside: number;
  /** slice id of the longest call, … */
  readonly slice: number | null;
  /** … its start, … */
  readonly ts: number | null;
  /** … and length */
  readonly dur_ns: number | null;
}

/** One module, by its key or by the node of its box. */
export interface ModuleRowQuery {
  readonly module: number;
  readonly steps?: string;
}

/** The rows of the tree by depth first; of each parent the largest first, or as sorted. */
export interface ModuleTable {
  readonly columns: readonly Column[];
  readonly rows: readonly ModuleRow[];
  /** rows that match, of which `rows` are the largest */
  readonly count: number;
  /** modules that these stand for */
  readonly modules: number;
  readonly sort_by: string;
  /** that sums add up; 0 = more is counted than steps */
  readonly step_count: number;
}

/** A total of the recording, or of its chosen steps, divided by owner; the parts sum to it. */
export interface ModuleWhole {
  readonly total_ns: number;
  readonly modules_ns: number;
  /** the modules first */
  readonly parts: readonly ModulePart[];
}

/** The modules of the chosen steps. */
export interface Modules {
  readonly headline: string;
  readonly detail: string;
  /** how the recording names modules */
  readonly source: string;
  readonly time: ModuleTime;
  readonly step_count: number;
  readonly device: ModuleWhole | null;
  readonly ops: ModuleWhole;
  readonly idle: ModuleWhole | null;
  /** the devices ran anything: unions by step and device */
  readonly busy_ns: number | null;
  readonly table: ModuleTable;
  readonly roots: readonly ModuleRow[];
  /** of the time in modules */
  readonly recompute_ratio: number;
  /** Of the whole recording, the outermost by their names in the model; () where it is not known */
  readonly never_called: readonly string[];
  readonly missing: Readonly<Record<string, string>>;
}

/** A choice of modules and their order. */
export interface ModulesQuery {
  /** steps by their numbers: "3", "2-5", "1,4-6"; "all", or "everything" that is recorded, outside of steps too; "" = all but warm-up and cut-off steps */
  readonly steps?: string;
  /** siblings of equal type and structure are one row */
  readonly fold?: boolean;
  /** what lies in the row with this key; "" = everything */
  readonly below?: string;
  /** modules whose name, type or path has these words; "" = all */
  readonly search?: string;
  /** the column to sort siblings by; "" = total_ns */
  readonly sort_by?: string;
  /** smallest first */
  readonly ascending?: boolean;
  /** rows, the largest */
  readonly limit?: number;
}

/** From one slice to a neighbour. */
export interface MoveQuery {
  readonly slice: number;
  readonly by: "child" | "flow" | "lane" | "name" | "parent";
  readonly direction?: "next" | "previous";
  readonly layout?: LayoutName;
}

/** One name that matches. `key` names its row of the Operator or the Kernel view. */
export interface NameFound {
  readonly name: string;
  readonly key: string;
  readonly count: number;
  readonly total_ns: number;
}

/** One name that a search found. */
export interface NameHit {
  /** code */
  readonly name: number;
  readonly text: string;
  /** of its first slice */
  readonly kind: number;
  readonly slices: number;
  readonly total_ns: number;
  /** slice id */
  readonly first: number;
}

/** The best matches among the names of one kind, and how many match. */
export interface NamesOfKind {
  readonly kind: "annotation" | "kernel" | "op";
  readonly names: readonly NameFound[];
  readonly count: number;
}

/** Name codes [first, first + count). */
export interface NamesQuery {
  readonly first?: number;
  readonly count?: number;
}

/** A window of the nodes of a graph. */
export interface NodeQuery extends GraphQuery {
  /** nodes whose name or lent operator has these words; "" = all */
  readonly search?: string;
  /** "" = place */
  readonly sort_by?: string;
  readonly ascending?: boolean;
  readonly offset?: number;
  readonly limit?: number;
}

/** One node of a graph in all replays of the chosen steps. */
export interface NodeRow {
  readonly key: string;
  /** The kernel, copy or call. */
  readonly name: string;
  /** Nodes in the order of their mean start within a replay, from 1. */
  readonly place: number;
  /** Type of the node: kernel, copy, set, host call or recorded event. */
  readonly kind: NodeKindName;
  /** The operator that launched the kernel when the graph was captured, from the capture-time recording: matched by name and order, refused where less than 90 % of the graph's kernel time finds its launch. */
  readonly op: string | null;
  /** Input shapes of that operator, from the same recording. */
  readonly shapes: string | null;
  /** Number of runs in the chosen steps. */
  readonly calls: number;
  /** Mean start, from the start of the replay. */
  readonly start_ns: number | null;
  /** Total divided by runs. */
  readonly mean_ns: number;
  /** The shortest run. */
  readonly min_ns: number;
  /** The longest run. */
  readonly max_ns: number;
  /** Sum of its runs. */
  readonly total_ns: number;
  /** Share of all device work of the graph; calls of the host and events have none. */
  readonly ratio: number;
  /** The place of the node that ends last of those it depends on. */
  readonly waits_for: number | null;
  /** Mean time before it in which nothing of the replay ran. */
  readonly idle_ns: number;
  /** The innermost module around that launch, from the capture-time recording. */
  readonly module: string | null;
  /** innermost frame first */
  readonly stack: readonly string[];
  /** Operator, shapes, module and stack are from the capture-time recording. */
  readonly lent: boolean;
  /** The node's id as recorded. */
  readonly number: number | null;
  readonly longest: number;
  /** what tells its name from the others' */
  readonly short: string;
}

/** A window of the nodes. */
export interface NodeTable {
  readonly columns: readonly Column[];
  readonly rows: readonly NodeRow[];
  readonly offset: number;
  readonly count: number;
  /** of all that match */
  readonly total_ns: number;
  readonly sort_by: string;
}

/** One thing to know about a trace. */
export interface Note {
  /** key of health.notes.CATALOG */
  readonly kind: string;
  readonly severity: string;
  /** "Allocator events carry no addresses or totals" */
  readonly title: string;
  /** how often; 0 where counting makes no sense */
  readonly count: number;
  /** out of how many; 0 = not a share */
  readonly total: number;
  /** what it means for the reader of the page */
  readonly consequence: string;
  /** how to record it better; "" = nothing to do */
  readonly remedy: string;
  readonly example: string;
  /** place of the example in the inflated text, −1 = none */
  readonly offset: number;
  /** stems of views whose figures it touches */
  readonly taints: readonly string[];
}

/** One op that launches the kernels of a row. */
export interface OpOfKernel {
  readonly name: string;
  readonly calls: number;
  readonly total_ns: number;
}

/** Communication of one rank. */
export interface OperationsQuery {
  readonly steps?: string;
  /** row of the view's ranks; -1 = all ranks */
  readonly rank?: number;
  /** of what is there while other recordings are being read */
  readonly so_far?: boolean;
}

/** The parts of a row: the largest of each, and how many there are in all. */
export interface OperatorDetails {
  readonly row: OperatorRow;
  readonly shapes: readonly OperatorRow[];
  readonly shapes_count: number;
  readonly shapes_missing: string;
  readonly stacks: readonly StackRow[];
  readonly stacks_count: number;
  readonly stacks_missing: string;
  readonly kernels: readonly LaunchedKernel[];
  readonly kernels_count: number;
  readonly kernels_missing: string;
  /** of `row.calls` */
  readonly slowest: readonly SlowCall[];
  /** label, text: of a compiled region or a fused kernel */
  readonly compiled: readonly (readonly [string, string])[];
}

/** A choice of rows, and their grouping. */
export interface OperatorQuery {
  /** steps by their numbers: "3", "2-5", "1,4-6"; "all", or "everything" that is recorded, outside of steps too; "" = all but warm-up and cut-off steps */
  readonly steps?: string;
  /** what calls of one row have in common */
  readonly group_by?: GroupBy;
  /** frames of a stack, innermost first */
  readonly stack_depth?: number;
  /** kinds of rows, "op,annotation"; "" = all, as key_averages() has */
  readonly kinds?: string;
  /** rows whose name has these words; "" = all */
  readonly search?: string;
  /** The column to sort by, or what key_averages().table() calls it; "" = device self time where the recording has it, else host self time */
  readonly sort_by?: string;
  /** smallest first */
  readonly ascending?: boolean;
  /** rows to skip */
  readonly offset?: number;
  /** rows of the window */
  readonly limit?: number;
  /** operators that each bar of shares names; the rest is one part */
  readonly parts?: number;
  /** the same as group_by shape, as key_averages() says it */
  readonly group_by_input_shape?: boolean;
  /** the same as group_by stack with this depth, as key_averages() says it; 0 = not given */
  readonly group_by_stack_n?: number;
}

/** All calls of one group. min … max are of a call's total host time. */
export interface OperatorRow {
  /** names the group in a `row` request */
  readonly key: string;
  /** Name of the op; calls that are equal by the grouping share a row. */
  readonly name: string;
  /** Type of the row: op, annotation, python, module, runtime, other. */
  readonly kind: CallKindName;
  /** Shapes, stack, module, thread or annotation of the group. */
  readonly detail: string;
  /** Number of calls; a call whose only child has its name is one with it. */
  readonly calls: number;
  /** Time of the kernels, copies and sets that the calls launched themselves. */
  readonly device_self_ns: number | null;
  /** Share of the device self time of everything recorded in the chosen steps, whatever kinds and names are shown. */
  readonly device_self_ratio: number | null;
  /** Time of all device activity launched by the calls and by those inside. */
  readonly device_total_ns: number | null;
  /** Share of the device time whose operator comes from a recording of the graph's capture; such calls have no host time. */
  readonly lent_ratio: number | null;
  /** Host time of the calls without those that lie strictly inside them, runtime calls included. Of two that overlap and are not inside each other, the common time counts in both; where children overlap each other it may be below 0, as in torch, and is no part of the shares. */
  readonly self_ns: number;
  /** Share of the host self time of everything recorded in the chosen steps, whatever kinds and names are shown. */
  readonly self_ratio: number | null;
  /** Host time of the calls with their children. As in torch, a call inside another of its name counts in both: the total may exceed the time that passed. */
  readonly total_ns: number;
  /** Host total time divided by the host self time of everything recorded in the chosen steps. The total of a call includes the calls inside it, so these add up to more than the whole. */
  readonly total_ratio: number | null;
  /** Host total time divided by the length of the chosen steps. Threads side by side can bring it above 100 %, and so can calls inside others of their name. */
  readonly step_ratio: number | null;
  /** Device total time divided by calls. */
  readonly device_mean_ns: number | null;
  /** Half of the calls have no more device total time. */
  readonly device_p50_ns: number | null;
  /** 95 % of the calls have no more device total time. */
  readonly device_p95_ns: number | null;
  /** The largest device total time of a call. */
  readonly device_max_ns: number | null;
  /** Host total time divided by calls. */
  readonly mean_ns: number;
  /** The shortest call, with its children. */
  readonly min_ns: number;
  /** Half of the calls take no longer. */
  readonly p50_ns: number;
  /** 95 % of the calls take no longer. */
  readonly p95_ns: number;
  /** The longest call, with its children. */
  readonly max_ns: number;
  /** Kernels, copies and sets that the calls launched themselves. */
  readonly kernels: number | null;
  /** Floating point operations by a model of the op and its input shapes; a multiply-add is two. */
  readonly flops: number | null;
  /** Light ÷ measured time: how near to the least time by the device's data sheet. */
  readonly light_ratio: number | null;
  /** Measured time − light, of work with a model of its FLOPs and bytes. */
  readonly waste_ns: number | null;
  /** The larger need of time by the data sheet: FLOPs or bytes. */
  readonly bound: string | null;
  /** True if an op of this name may run on tensor cores. */
  readonly tensor_core_eligible: boolean;
  /** Share of the device self time in kernels that use tensor cores, by their names. */
  readonly tensor_core_self_ratio: number | null;
  /** Share of the device total time in kernels that use tensor cores, by their names. */
  readonly tensor_core_total_ratio: number | null;
  readonly has_stack: boolean;
  /** slice id of its longest call */
  readonly longest: number;
}

/** A window of the rows, and the sums of all that match. */
export interface OperatorTable {
  readonly columns: readonly Column[];
  readonly rows: readonly OperatorRow[];
  readonly offset: number;
  readonly count: number;
  readonly calls: number;
  readonly self_ns: number;
  readonly device_self_ns: number | null;
  readonly sort_by: string;
  /** that sums add up; 0 = more is counted than steps */
  readonly step_count: number;
}

/** The operators of the chosen steps. */
export interface Operators {
  /** the answer in one sentence */
  readonly headline: string;
  readonly detail: string;
  readonly step_count: number;
  readonly charts: readonly ShareChart[];
  readonly table: OperatorTable;
  /** all device activity of the chosen steps; = Σ self + Σ unattributed */
  readonly device_ns: number | null;
  readonly unattributed_columns: readonly Column[];
  readonly unattributed: readonly Unattributed[];
  /** share of device compute time with a model */
  readonly flops_coverage: number | null;
  /** what is not known of them, and why */
  readonly flops_missing: string;
  /** "Tensor cores", or as the vendor of the devices calls them */
  readonly cores_name: string;
  /** grouping → why it is not available, "" = it is */
  readonly groupings: Readonly<Record<string, string>>;
  readonly missing: Readonly<Record<string, string>>;
}

/** The answer. */
export interface Overview {
  readonly sentence: Sentence;
  /** what is divided: steps, iterations of an engine, or the recording as a whole */
  readonly noun: StepNoun;
  /** "CPU" when no device activity was recorded */
  readonly device_type: string;
  /** the device the ruler and the partitions show */
  readonly device_row: number | null;
  readonly ruler: Ruler;
  /** all of them, chosen or not */
  readonly steps: readonly StepRow[];
  /** "" or a sentence saying what stands for steps */
  readonly step_source: string;
  /** the mean step by category; the first row is the step */
  readonly summary: readonly SummaryRow[];
  readonly devices: readonly DeviceCard[];
  readonly gaps_columns: readonly Column[];
  /** the longest idle stretches of the chosen device, longest first */
  readonly gaps: readonly IdleGap[];
  /** of its launches, copies and collectives */
  readonly figures: readonly IdleFigure[];
  /** by counters of the chosen device; null: see `missing` */
  readonly measured: Measured | null;
  /** phases of an inference engine; null: no such recording */
  readonly serving: Serving | null;
  readonly configuration: readonly Configuration[];
  readonly findings: readonly Finding[];
  /** Why what the sentence blames has no finding; null where it has one, or blames nothing. */
  readonly unanswered: Explanation | null;
  /** by what the recording lacks */
  readonly unchecked: readonly Lacking[];
  readonly rule_count: number;
  /** part of the page → "not available, because …, record with …" */
  readonly missing: Readonly<Record<string, string>>;
  /** titles of health notes that touch these figures */
  readonly taints: readonly string[];
  /** other workers of its run that are not read yet: one of them may be late */
  readonly waiting: number;
}

/** The chosen steps and device. */
export interface OverviewQuery {
  /** steps by their numbers: "3", "2-5", "1,4-6" or "all"; "" = all but warm-up and incomplete ones */
  readonly steps?: string;
  /** device by its number or key: "0", "cuda:0", "hip:1"; "" = the busiest */
  readonly device?: string;
}

/** Where the path goes over from a thread or stream to another one. */
export interface PathArrow {
  readonly source: SliceRef;
  readonly target: SliceRef;
  /** the instant within `source` … */
  readonly leave_ns: number;
  /** … and within `target` */
  readonly arrive_ns: number;
  /** what the path does then: "Compute", "Blocking call" */
  readonly label: string;
  /** of the part that is left; −1: not limited */
  readonly slack_ns: number;
  readonly inferred: boolean;
}

/** The arrows of the path in a window; of many those that begin the longest parts. */
export interface PathArrows {
  /** in order of time */
  readonly arrows: readonly PathArrow[];
  /** all that there are */
  readonly count: number;
}

/** A window of time, and the layout in which the arrows are drawn. */
export interface PathArrowsQuery {
  readonly start_ns: number;
  readonly end_ns: number;
  readonly layout?: LayoutName;
  readonly inferred?: boolean;
}

/** The path in a window; outside of steps there is none. */
export interface PathBand {
  readonly pieces: readonly PathPiece[];
  /** dependencies of the recording that are inferred */
  readonly inferred: number;
}

/** A window of time, and how many columns it has on the screen. */
export interface PathBandQuery {
  readonly start_ns: number;
  readonly end_ns: number;
  readonly columns?: number;
  /** follow dependencies that are only inferred, too */
  readonly inferred?: boolean;
}

/** One part of the path, or all of a column that are too narrow to see: the longest speaks. */
export interface PathPiece {
  readonly ts: number;
  readonly dur_ns: number;
  readonly kind: string;
  /** "Python code" */
  readonly label: string;
  readonly category: string;
  /** the host, or the device waiting */
  readonly ghost: boolean;
  /** "" nothing recorded */
  readonly name: string;
  /** −1: none */
  readonly slice: number;
  /** −1: not limited */
  readonly slack_ns: number;
  /** reached by a dependency that is inferred */
  readonly inferred: boolean;
  readonly parts: number;
}

/** The chosen steps, and whether inferred dependencies count. */
export interface PathQuery {
  /** steps by their numbers: "3", "2-5", "1,4-6" or "all"; "" = all but warm-up and incomplete ones */
  readonly steps?: string;
  /** follow dependencies that are only inferred, too */
  readonly inferred?: boolean;
}

/** All parts of one kind and name. */
export interface PathRow {
  readonly kind: string;
  /** Type of the part: ops, kernels, launches, waiting. */
  readonly label: string;
  /** The event of which it is a part. */
  readonly name: string;
  /** Its parts of the longest chain, added up. All rows sum to the steps. */
  readonly ns: number;
  /** Of the length of the chosen steps. */
  readonly ratio: number;
  /** Number of its pieces in the chain. */
  readonly count: number;
  /** Greatest possible saving on a part of it, before another chain becomes longer. */
  readonly slack_ns: number | null;
  /** The longest of these pieces; leads to it in Trace. */
  readonly longest_ns: number;
  readonly link: Reference;
}

/** All parts of the critical paths of the chosen steps that are of one kind. */
export interface PathShare {
  readonly kind: string;
  readonly label: string;
  readonly category: string;
  /** no work: the device waits */
  readonly ghost: boolean;
  readonly ns: number;
  readonly ratio: number;
  /** without inferred dependencies; null where none was inferred */
  readonly certain_ratio: number | null;
}

/** Device time of a phase in one family of kernels. */
export interface PhaseFamily {
  readonly name: string;
  readonly ns: number;
  /** of the device time of the phase */
  readonly ratio: number;
  /** colour */
  readonly category: string;
}

/** A range in a step: the DataLoader, a module, the optimizer. In ns, as in the Trace view. */
export interface PhaseMark {
  readonly name: string;
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** One piece of both steps: an anchor, or the events between two of them. */
export interface Piece {
  /** Its place, and that of the pieces around it. */
  readonly path: string;
  /** Its name in A. */
  readonly name: string;
  /** Its name in B. */
  readonly other_name: string;
  /** step, loader, module, optimizer, between. */
  readonly kind: string;
  /** Time of the main thread per step in A, the base. */
  readonly base_ns: number;
  /** Time of the main thread per step in B. */
  readonly other_ns: number;
  /** Device time that it launched in A. */
  readonly base_device_ns: number;
  /** Device time that it launched in B. */
  readonly other_device_ns: number;
  /** Number in all chosen steps of A. */
  readonly base_count: number;
  /** Number in all chosen steps of B. */
  readonly other_count: number;
  readonly has_inside: boolean;
}

/** The pieces below a path, in the order of time. */
export interface Pieces {
  readonly path: string;
  /** names from the outermost to this one */
  readonly trail: readonly string[];
  readonly pieces_columns: readonly Column[];
  readonly pieces: readonly Piece[];
  readonly columns: readonly Column[];
  /** the operators of this piece, those that changed most first */
  readonly rows: readonly DiffRow[];
  readonly row_count: number;
  readonly missing: string;
}

/** The pieces inside one piece. */
export interface PiecesQuery extends DiffQuery {
  /** places from the outermost list on: "0-2-1"; "" = the step itself */
  readonly path?: string;
}

/** One stage of a pipeline. */
export interface PipelineStage {
  /** Its place in the pipeline, from 0. */
  readonly number: number;
  /** The ranks of the stage. */
  readonly ranks: string;
  /** Time in send and receive while nothing computes, and idle before the first and after the last work of a step unless the DataLoader ran; per step, mean of the stage's ranks. */
  readonly bubble_ns: number | null;
  /** The bubble by the length of the step. */
  readonly bubble_ratio: number | null;
  /** The least bubble of GPipe and 1F1B, (p − 1) / (m + p − 1) for p stages and m parts of the batch. Below it the schedule is another, or the stage waits elsewhere. */
  readonly least_ratio: number | null;
  /** When the receiver was ready minus when the sender was, median: positive, the data waited; negative, the stage did. */
  readonly slack_ns: number | null;
  /** Share of the messages it receives for which it waited. */
  readonly waited_ratio: number | null;
}

/** A range of time on some tracks: an area. */
export interface RangeQuery {
  readonly start_ns: number;
  readonly end_ns: number;
  readonly tracks?: string;
  readonly layout?: LayoutName;
}

/** The value of a rank in a column: waiting, own work or lateness; `null` = not there. */
export interface RankCell {
  readonly values: readonly (number | null)[];
  /** it came last: in most collectives of the step, or in this one */
  readonly last: readonly boolean[];
}

/** The clock of a worker, relative to the requested trace. */
export interface RankClock {
  readonly worker: string;
  readonly rank: number | null;
  /** to add to its wall clock; 0 where clocks are shown as recorded */
  readonly correction_ns: number;
  readonly uncertainty_ns: number | null;
  /** why its clock is not known */
  readonly problem: string;
}

/** The clocks of some workers, and how they are known. */
export interface RankClocks {
  readonly clocks: readonly RankClock[];
  readonly fitted: boolean;
  /** instants of different ranks may be compared */
  readonly comparable: boolean;
  readonly sentence: string;
  /** of which that is known: those asked for, and those that were digested before */
  readonly ranks: number;
}

/** All ranks of the job by their places in process groups. */
export interface RankLayout {
  /** "TP 8 × PP 4 × DP 32"; "" where no role is known */
  readonly text: string;
  readonly axes: readonly LayoutAxis[];
  readonly cells: readonly LayoutCell[];
}

/** All calls of one operation in one group and of one size, over the chosen steps. */
export interface RankOperation {
  /** Calls of one operation and process group are one row. */
  readonly operation: string;
  /** The process group that they run in. */
  readonly group: string;
  /** Calls in the chosen steps, of the chosen rank or of all. */
  readonly calls: number;
  /** Of these, calls that no other recording has. */
  readonly alone: number;
  /** all_gather: what each rank receives in all; reduce_scatter and all_to_all: what each sends in all, of all_to_allv without its own part, the largest of any rank; gather and scatter: what the root has; else the message (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly total_bytes: number | null;
  /** Size by calls. */
  readonly mean_bytes: number | null;
  /** Length of the calls, waiting and transfer; calls of a rank at the same time count once. */
  readonly latency_ns: number;
  /** Latency by calls. */
  readonly mean_latency_ns: number;
  /** Of the time in collectives, as much as the rank is in each that is in it for the shortest time, at its end: min over ranks of (end − start). Calls at the same time count once, and no clock is needed. The PyTorch profiler's TensorBoard plugin defined it so. */
  readonly transfer_ns: number | null;
  /** Data transfer by calls. */
  readonly mean_transfer_ns: number | null;
  /** Size / transfer, GB/s = 10⁹ bytes a second; of several collectives the median (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly algorithm_gbs: number | null;
  /** Algorithm bandwidth × factor, for n ranks: 2(n−1)/n for all_reduce; (n−1)/n for all_gather, reduce_scatter, all_to_all, gather and scatter; 1 for broadcast, reduce, send and recv, and for all_to_allv, whose own part is not in the size. So it can be held against the hardware's figure (NVIDIA nccl-tests, PERFORMANCE.md). */
  readonly bus_gbs: number | null;
}

/** Communication operations, most time first. */
export interface RankOperations {
  readonly columns: readonly Column[];
  readonly rows: readonly RankOperation[];
  /** why figures are missing */
  readonly reason: string;
}

/** Where a rank's step went: means over the chosen steps; five parts sum to its length. */
export interface RankStep {
  /** Length of the rank's own step. */
  readonly length_ns: number;
  /** Kernels that are no communication, while no communication ran; without device activity, ops that are no collectives. */
  readonly compute_ns: number;
  /** Compute and communication at the same time. */
  readonly overlap_ns: number;
  /** Communication while nothing computed. */
  readonly communication_ns: number;
  /** Copies and sets while no kernel ran. */
  readonly copy_ns: number;
  /** Nothing of the above. */
  readonly idle_ns: number;
  /** Of the time in collectives, the rest beyond data transfer: this rank was there and another was not yet. */
  readonly synchronizing_ns: number | null;
  /** Of the time in collectives, as much as the rank is in each that is in it for the shortest time, at its end: min over ranks of (end − start). Calls at the same time count once, and no clock is needed. The PyTorch profiler's TensorBoard plugin defined it so. */
  readonly transferring_ns: number | null;
}

/** Query for the sentence on differing ranks. */
export interface RanksQuery {
  readonly steps?: string;
}

/** The sentence on differing ranks, for the Overview. */
export interface RanksSentence {
  readonly sentence: string;
  readonly ranks: number;
  /** recordings that are still being read */
  readonly waiting: number;
  /** "4 prefill, 8 decode", where names tell it; "" otherwise */
  readonly roles: string;
}

/** Progress of reading one file, or of computing an answer. */
export interface ReadProgress {
  /** "reading events" | "linking launches" | "summarizing" | "writing the cache" | "preparing" | "waiting for a free process" | "computing" | "reading digests" | … */
  readonly phase: string;
  readonly bytes_done: number;
  readonly bytes_total: number;
  readonly events: number;
  /** since reading began */
  readonly seconds: number;
  /** null: cannot be told yet */
  readonly seconds_left: number | null;
  /** relative to its logdir; "" where it is clear which one is meant */
  readonly file: string;
  /** of an answer that is being computed, instead of bytes: recordings opened, stages passed */
  readonly parts_done: number;
  readonly parts_total: number;
}

/** The body of a 202: the trace is being read; try again. */
export interface Reading {
  readonly reading: ReadProgress;
}

/** A link to a view of this page (`view` + `params`) or to a document (`url`). */
export interface Reference {
  readonly text: string;
  readonly view: string;
  readonly params: Readonly<Record<string, string>>;
  readonly url: string;
}

/** One row whose details are shown. */
export interface RowQuery {
  readonly key: string;
  readonly steps?: string;
  readonly group_by?: GroupBy;
  readonly stack_depth?: number;
}

/** A window of the slices of an area. */
export interface RowsQuery extends RangeQuery {
  readonly text?: string;
  readonly sort?: "-dur" | "-name" | "-self" | "-ts" | "dur" | "name" | "self" | "ts";
  readonly offset?: number;
  readonly limit?: number;
}

/** Id and title of a rule. */
export interface RuleName {
  readonly id: string;
  readonly title: string;
}

/** The mean of the chosen steps, part by part; the parts sum to the step. */
export interface Ruler {
  /** "Mean step on GPU 0" */
  readonly title: string;
  /** sum over the chosen steps: the exact proof */
  readonly total_ns: number;
  readonly step_count: number;
  readonly mean_ns: number;
  readonly shares: readonly Share[];
  /** Mean of compute, or of work of the main thread, under which it communicated; null: not known. */
  readonly overlap_ns: number | null;
  /** of the device; null: of the main thread, or without its kernels */
  readonly busy_ns: number | null;
  readonly idle_ns: number | null;
}

/** A folder of traces; `name` is unique over all logdirs. */
export interface RunInfo {
  readonly name: string;
  readonly logdir: string;
  readonly modified: number;
  /** those of the newest start first */
  readonly workers: readonly WorkerInfo[];
  readonly starts: readonly StartInfo[];
  /** recordings of captures of its graphs: no ranks of it */
  readonly captures: readonly WorkerInfo[];
}

/** Everything above and below all boxes of a name, merged. */
export interface Sandwich {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly self_value: number;
  readonly calls: number;
  /** the root is the name, children are its callers */
  readonly callers: readonly FlameNode[];
  readonly callees: readonly FlameNode[];
}

/** Callers and callees of one name. */
export interface SandwichQuery extends FoldedQuery {
  readonly name: string;
}

/** Matching names, their number, and their place on the time axis. */
export interface SearchAnswer {
  /** by count, at most 200 */
  readonly names: readonly NameHit[];
  /** all that match */
  readonly name_count: number;
  /** name codes of all that match, at most 5000: for highlighting */
  readonly codes: readonly number[];
  readonly slices: number;
  readonly total_ns: number;
  /** slices per column of the minimap, `columns` of them */
  readonly density: readonly number[];
  /** hits by track index */
  readonly tracks: Readonly<Record<string, number>>;
  /** of a regular expression, "" = fine */
  readonly problem: string;
}

/** Names by text (every word, any case), regular expression, or exactly. */
export interface SearchQuery {
  readonly text: string;
  readonly mode?: "exact" | "regex" | "text";
  readonly columns?: number;
  /** "" = all */
  readonly tracks?: string;
  readonly layout?: LayoutName;
}

/**
 * An event behind a finding, so that the finding can be checked.
 *
 * `slice` is the event's number in the Trace view, and in `kinetoscope advise --slice`;
 * `event` its place among all events of the file, counted from 0. −1: a stretch of time.
 */
export interface SeenEvent {
  readonly name: string;
  readonly slice: number;
  readonly event: number;
  readonly ts: number;
  readonly dur_ns: number;
  /** "ProfilerStep#3"; "" outside of all */
  readonly step: string;
  readonly link: Reference;
}

/** The answer in one sentence. Text between backticks is code. */
export interface Sentence {
  /** "The GPU waits for the DataLoader for a third of every step." */
  readonly headline: string;
  readonly detail: string;
  /** "in 4 of 6 steps" */
  readonly agreement: string;
  /** what it blames: a field of Partition or HostPartition, a rule's id, or a word of `headline` */
  readonly cause: string;
  /** `detail` without the lengths that a drawing of the step shows */
  readonly beyond: string;
}

/** One iteration of the chosen steps. */
export interface ServedIteration {
  readonly index: number;
  /** In order, or as the engine counts it. */
  readonly number: number;
  /** Phase and batch. */
  readonly label: string;
  readonly phase: string;
  /** Of the batch. */
  readonly batch: number | null;
  /** New tokens of prompts. */
  readonly prefill_tokens: number | null;
  /** New tokens. */
  readonly generated_tokens: number | null;
  /** Σ of keys that attention reads. */
  readonly keys: number | null;
  /** From its first work to its last. */
  readonly span_ns: number;
  /** To the first work of the next one. */
  readonly period_ns: number | null;
  /** Of the device time. */
  readonly busy_ratio: number;
  /** Idle time behind the one before. */
  readonly gap_ns: number | null;
  /** Of most of the gap. */
  readonly cause: string;
  /** Longest in the gap. */
  readonly holder: string;
  /** Calls that launched its work. */
  readonly launches: number;
  /** Of these, replays of graphs. */
  readonly replays: number;
  /** Why no figure contains it. */
  readonly left_out: string;
  /** its work in the Trace view */
  readonly link: Reference;
}

/** The whole iterations of one phase. */
export interface ServedPhase {
  /** "prefill", "mixed", "decode", "idle", "" */
  readonly phase: string;
  /** its whole iterations, as a choice of steps: "0-3,7" */
  readonly steps: string;
  /** By the requests in the batch. */
  readonly name: string;
  /** Whole ones; the others are in no figure. */
  readonly count: number;
  /** Of the device time of all phases. */
  readonly share_ratio: number;
  /** Mean of an iteration. */
  readonly requests: number | null;
  /** Mean of an iteration, from its first work to its last. */
  readonly span_ns: number;
  /** Mean time from the first work of an iteration to that of the next. */
  readonly period_ns: number | null;
  /** Of the device time. */
  readonly busy_ratio: number;
  /** Mean idle time of the device before an iteration. */
  readonly gap_ns: number | null;
  /** The host event that held the device longest in gaps. */
  readonly holder: string;
  /** New tokens of prompts. */
  readonly prefill_per_s: number | null;
  /** With speculation: drafted tokens. */
  readonly generated_per_s: number | null;
  /** Period · requests ÷ generated tokens. */
  readonly token_ns: number | null;
  /** The time behind figures of tokens. */
  readonly basis: string;
  /** Of prefill: FLOPs ÷ period ÷ peak rate. Without a period: device time. */
  readonly mfu_ratio: number | null;
  /** Of decode: weights, keys and values ÷ period ÷ bandwidth. Without a period: device time. */
  readonly mbu_ratio: number | null;
  /** Of the batches that ran; where the engine writes it. */
  readonly padding_ratio: number | null;
  /** Share of device time in replayed graphs. */
  readonly graph_ratio: number;
  readonly families: readonly PhaseFamily[];
}

/** The served model; only in recordings of inference engines. */
export interface Serving {
  /** "Phases of vLLM" */
  readonly title: string;
  readonly phases_columns: readonly Column[];
  readonly phases: readonly ServedPhase[];
  readonly iterations_columns: readonly Column[];
  readonly iterations: readonly ServedIteration[];
  /** of the chosen steps; the first ones are listed */
  readonly iteration_count: number;
  /** what the figures cannot tell, and why */
  readonly notes: readonly string[];
}

/** One part of a whole. `key` is the field name in Partition, Breakdown or HostPartition. */
export interface Share {
  readonly key: string;
  /** "Exposed copy" */
  readonly label: string;
  /** Colour: compute | comm | memcpy | memset | runtime | loader | cpu | other. Phases of a step on the host are lightness steps of cpu: cpu-light | cpu | cpu-deep | cpu-deepest. */
  readonly category: string;
  /** True: the device was idle; the hue says what the host did meanwhile */
  readonly ghost: boolean;
  readonly mean_ns: number;
  /** of the mean step */
  readonly ratio: number;
  /** the definition, for the tooltip */
  readonly help: string;
  /** the longest event or stretch of it, in the Trace view */
  readonly link: Reference | null;
}

/**
 * One of the four shares.
 *
 * `total_ns` is the whole that shares in the rows have, too: the self time of everything in the
 * chosen steps. Parts, rest and others of a chart of self time sum to it; those of a chart of
 * totals sum to more, because calls lie inside calls.
 */
export interface ShareChart {
  readonly stem: "device_self" | "device_total" | "host_self" | "host_total";
  readonly title: string;
  readonly definition: string;
  readonly total_ns: number;
  readonly parts: readonly SharePart[];
  readonly rest_ns: number;
  readonly rest_count: number;
  /** of what is no operator: annotations, Python frames; 0 in charts of totals */
  readonly others_ns: number;
}

/** One operator's part of a whole. */
export interface SharePart {
  readonly name: string;
  readonly ns: number;
  readonly ratio: number;
}

/** One argument as the file writes it; `text` is shown, `cut` is true if it is shortened. */
export interface SliceArg {
  readonly key: string;
  readonly text: string;
  readonly cut: boolean;
}

/** All data of one slice. */
export interface SliceDetails {
  readonly slice: SliceRef;
  readonly kind_label: string;
  readonly self_ns: number;
  readonly step: string;
  /** from the start of its step */
  readonly step_offset_ns: number | null;
  readonly track_label: string;
  /** of device work that its track does not tell: "stream 41", "stream 29, on lane 7" */
  readonly stream: string;
  readonly depth: number;
  /** wall clock of its start */
  readonly wall_ns: string;
  /** in words: "overlaps its neighbours", "the recording ended before it" */
  readonly flags: readonly string[];
  /** slices of the same name */
  readonly peers: number;
  /** of those */
  readonly median_ns: number | null;
  /** 1 = the longest of its name */
  readonly rank: number | null;
  /** outermost first */
  readonly ancestors: readonly SliceRef[];
  readonly links: readonly SliceLink[];
  readonly launch: LaunchDelay | null;
  /** of work in a replayed graph, where a capture was recorded */
  readonly origin: SliceOrigin | null;
  readonly args: readonly SliceArg[];
  /** why there are none, "" when there are */
  readonly args_missing: string;
  /** shape and dtype of each input where recorded */
  readonly inputs: readonly (readonly [string, string])[];
  readonly stack: readonly StackFrame[];
  /** why there is none, or how much of it is not listed */
  readonly stack_missing: string;
  /** of a Python frame */
  readonly source_file: string;
  readonly source_line: number;
}

/** A linked slice, and the kind of link. */
export interface SliceLink {
  readonly relation: "backward" | "forward" | "kernels" | "launched by" | "launches" | "op" | "parent";
  /** "forward op", "1 of 6 kernels, 48.3 µs in all" */
  readonly label: string;
  readonly to: SliceRef;
  /** from the end of the one to the start of the other */
  readonly delay_ns: number | null;
  /** how many of this relation there are; `to` is the first */
  readonly count: number;
}

/** The operator of work in a replayed graph, from a recording of its capture. */
export interface SliceOrigin {
  readonly op: string;
  /** of its inputs; "" not recorded */
  readonly shapes: string;
  /** the innermost module around it; "" not known */
  readonly module: string;
  /** the recording of the capture … */
  readonly run: string;
  readonly worker: string;
}

/** One slice. */
export interface SliceQuery {
  readonly slice: number;
  readonly layout?: LayoutName;
}

/** One slice, with the data to name, draw and reach it. */
export interface SliceRef {
  readonly slice: number;
  readonly name: string;
  readonly kind: number;
  readonly ts: number;
  readonly dur: number;
  readonly track: number;
  /** within the track */
  readonly lane: number;
}

/** One line of the slices table. */
export interface SliceRow {
  readonly slice: number;
  readonly name: string;
  readonly kind: number;
  readonly track: number;
  readonly ts: number;
  readonly dur: number;
  readonly self_ns: number;
  readonly step: number;
}

/** A window of the slices table. */
export interface SliceRows {
  readonly rows: readonly SliceRow[];
  readonly offset: number;
  /** of all that match */
  readonly count: number;
}

/** One call, with its place on the timeline. */
export interface SlowCall {
  readonly slice: number;
  readonly ts: number;
  readonly dur_ns: number;
  readonly self_ns: number;
  readonly device_ns: number | null;
  readonly step: string;
  readonly thread: string;
  readonly shapes: string;
}

/** One line of the recipe. */
export interface SnippetLine {
  readonly text: string;
  /** not in this recording: what the reader should add */
  readonly added: boolean;
}

/** The place of a source file of a stack. */
export interface SourcePlace {
  /** absolute, for an editor; "" where nothing is known of its place */
  readonly path: string;
  /** the server looked, and has it: never so where texts are not served */
  readonly found: boolean;
  /** 1-based */
  readonly line: number;
  /** number of the first of `lines` */
  readonly first: number;
  readonly lines: readonly string[];
  /** why there are no lines */
  readonly missing: string;
  /** working directory of the recording, as it says; "" where it does not */
  readonly directory: string;
}

/** One recorded cycle of a worker. `key` identifies it in queries. */
export interface SpanInfo {
  /** "1", "2", … in time order, or "default" for a lone file without a time stamp */
  readonly key: string;
  /** shown: wall-clock time when known */
  readonly label: string;
  readonly state: State;
  /** content key; "" until known. Answers are immutable per digest */
  readonly digest: string;
  readonly file: string;
  readonly progress: ReadProgress | null;
  readonly error: ErrorInfo | null;
  /** null: not read yet, or nothing marks steps */
  readonly steps: StepFigures | null;
  /** of which it is: its number in `RunInfo.starts` */
  readonly start: number;
}

/** Speed of light of the device, and the time above it. */
export interface SpeedOfLight {
  readonly headline: string;
  readonly detail: string;
  readonly step_count: number;
  readonly parts: readonly SpeedPart[];
  readonly parts_columns: readonly Column[];
  readonly reasons: readonly SpeedReason[];
  readonly reasons_columns: readonly Column[];
  /** waste of kernels while others ran: in rows, not in the steps */
  readonly under_others_ns: number | null;
  readonly ranking: readonly SpeedRank[];
  readonly ranking_columns: readonly Column[];
  /** null: no device, or no data sheet of it */
  readonly roofline: SpeedRoofline | null;
  /** without what was computed again */
  readonly model_flops: number;
  readonly all_flops: number;
  /** model FLOPs ÷ (length · peak) */
  readonly mfu_ratio: number | null;
  /** the same of all FLOPs */
  readonly hfu_ratio: number | null;
  /** Decode: bytes of weights, cached keys and values ÷ (time of the iterations · bandwidth) */
  readonly mbu_ratio: number | null;
  /** MFU, HFU and MBU are lower bounds: much compute time has no figure */
  readonly at_least: boolean;
  /** of the peak rates; "" = there are none */
  readonly source: string;
  readonly table: SpeedTable;
}

/** A part of the chosen steps; the parts sum to them exactly. */
export interface SpeedPart {
  readonly key: string;
  /** Activity of the device, or its absence. */
  readonly name: string;
  /** Time within the chosen steps. */
  readonly ns: number;
  /** Share of the chosen steps. */
  readonly ratio: number;
  readonly help: string;
}

/** One row of the table in the roofline; without FLOPs it has a bandwidth alone. */
export interface SpeedPoint {
  readonly name: string;
  /** measured time of its work with a figure */
  readonly ns: number;
  /** least FLOPs ÷ bytes; null: it computes no products */
  readonly intensity: number | null;
  readonly tflop_s: number;
  readonly gb_s: number;
  readonly light_ratio: number;
  /** of its products */
  readonly unit: string;
  /** all smaller rows together */
  readonly is_rest: boolean;
}

/** A choice of steps and a grouping. */
export interface SpeedQuery {
  /** steps by their numbers: "3", "2-5", "1,4-6" or "all"; "" = all but warm-up and incomplete ones */
  readonly steps?: string;
  /** device by its number or key: "0", "cuda:0", "hip:1"; "" = the busiest */
  readonly device?: string;
  /** rows; "kind": by op, shapes, types and kernels */
  readonly group_by?: SpeedGrouping;
  /** the column to sort by; "" = waste_ns, or measured_ns where none has light */
  readonly sort_by?: string;
  /** smallest first */
  readonly ascending?: boolean;
  /** rows to skip */
  readonly offset?: number;
  /** rows */
  readonly limit?: number;
}

/** Time above the speed of light; all of them sum to the chosen steps − light. */
export interface SpeedRank {
  /** "op", or the part: "idle", "exposed_communication", …, "others", "no_figure", "under_others" */
  readonly key: string;
  /** An op's waste, or a part of the steps. */
  readonly name: string;
  /** Time above the speed of light. */
  readonly ns: number;
  /** With all rows above. */
  readonly running_ns: number;
  /** Share of the chosen steps. */
  readonly ratio: number;
}

/** Compute time without a figure, by reason. */
export interface SpeedReason {
  /** The reason. */
  readonly reason: string;
  /** Compute time within the chosen steps. */
  readonly ns: number;
  /** Share of the compute time. */
  readonly ratio: number;
  /** Its cause or remedy. */
  readonly help: string;
}

/** The rate of a unit of the device. */
export interface SpeedRoof {
  /** "16-bit", "TF32" */
  readonly name: string;
  readonly tflop_s: number;
}

/** Rates of the device, and the rows of the table below them. */
export interface SpeedRoofline {
  readonly bandwidth_gb_s: number;
  /** of the units that computed */
  readonly roofs: readonly SpeedRoof[];
  /** most time first */
  readonly points: readonly SpeedPoint[];
}

/** Work of one group of kernels, and the least time for it. */
export interface SpeedRow {
  /** The op, kernel or module. */
  readonly name: string;
  /** Input shapes, where the row has one set of them. */
  readonly shapes: string | null;
  /** Launches of the op, or of the kernel. */
  readonly calls: number;
  /** Sum of the durations of its kernels; on the CPU of its ops. */
  readonly measured_ns: number;
  /** The least time by the data sheet: the larger of least FLOPs ÷ peak and bytes ÷ bandwidth. */
  readonly light_ns: number | null;
  /** Light ÷ measured time, of work with a model. */
  readonly light_ratio: number | null;
  /** Measured time − light, of work with a model. */
  readonly waste_ns: number | null;
  /** The larger need of time: FLOPs or bytes. */
  readonly bound: string | null;
  /** By the convention of `torch.utils.flop_counter`: a multiply-add is two; only products, convolutions and attention count. */
  readonly flops: number | null;
  /** FLOPs without the pairs that a causal mask hides. */
  readonly least_flops: number | null;
  /** Bytes at different addresses that it must read, each once. */
  readonly read_bytes: number | null;
  /** Bytes that it must write, each once. */
  readonly written_bytes: number | null;
  /** Least FLOPs ÷ measured. */
  readonly tflop_s: number | null;
  /** Bytes ÷ measured. */
  readonly moved_bytes_per_s: number | null;
  /** Least FLOPs ÷ bytes. */
  readonly intensity: number | null;
  /** Part of the measured time that has light. */
  readonly figure_ratio: number | null;
  /** Why most of the rest has no light. */
  readonly reason: string | null;
  /** Capture: op and sizes of replayed kernels come from a recording of the graph's capture. */
  readonly sizes_from: string | null;
  /** The type that its products multiply. */
  readonly dtype: string | null;
  /** What computes the products. */
  readonly unit: string | null;
  /** TFLOP/s of the unit. */
  readonly peak_tflop_s: number | null;
  /** Data sheet of the device. */
  readonly source: string | null;
}

/** Utilization, the parts of the chosen steps, and missing figures: for other views. */
export interface SpeedSummary {
  readonly headline: string;
  /** that times add up */
  readonly step_count: number;
  readonly reasons: readonly SpeedReason[];
  readonly reasons_columns: readonly Column[];
  readonly parts: readonly SpeedPart[];
  /** the three ops with most waste */
  readonly ranking: readonly SpeedRank[];
  readonly mfu_ratio: number | null;
  readonly hfu_ratio: number | null;
  readonly mbu_ratio: number | null;
  readonly at_least: boolean;
  readonly source: string;
}

/** A window of the table. */
export interface SpeedTable {
  readonly columns: readonly Column[];
  readonly rows: readonly SpeedRow[];
  readonly offset: number;
  /** rows in all */
  readonly count: number;
  readonly sort_by: string;
  /** that sums add up; 0 = more is counted than steps */
  readonly step_count: number;
}

/** One frame of the call stack, innermost first. */
export interface StackFrame {
  readonly name: string;
  /** "" when the frame does not tell */
  readonly file: string;
  /** 1-based; 0 when unknown */
  readonly line: number;
  readonly slice: number | null;
}

/** One distinct call stack with the figures of its calls. */
export interface StackRow {
  readonly row: OperatorRow;
  /** innermost first */
  readonly frames: readonly CallFrame[];
}

/** One start of the program that wrote a run: recordings that belong together. */
export interface StartInfo {
  /** from 1, in order of time */
  readonly number: number;
  /** when its first recording was saved, seconds since the epoch */
  readonly saved: number;
  /** what cannot be told */
  readonly note: string;
}

/** A window of the ops over a range. */
export interface StatisticsQuery extends MemoryRange {
  readonly search?: string;
  readonly sort_by?: string;
  readonly ascending?: boolean;
  readonly offset?: number;
  readonly limit?: number;
}

/** One op by name. Self: the op alone; the others with the ops inside it. */
export interface StatisticsRow {
  /** The op that ran on the thread of the event. `aten::empty` is shown with the op that called it, as `aten::ones (aten::empty)`. */
  readonly name: string;
  /** Calls that touch the range. */
  readonly calls: number | null;
  /** Allocated less released, with everything it called. */
  readonly increase_bytes: number;
  /** Allocated less released by it alone. The rows sum to the change of the curve. */
  readonly self_increase_bytes: number;
  /** Number of allocations, including everything it called. */
  readonly allocations: number;
  /** Allocations in it, without those of ops that it called. */
  readonly self_allocations: number;
  /** Bytes allocated, releases aside, with everything it called. */
  readonly allocation_bytes: number;
  /** Bytes that it allocated itself, releases aside. */
  readonly self_allocation_bytes: number;
}

/**
 * A window of the rows; the sums are those of all rows of the range, whatever is searched.
 *
 * `increase_bytes` is the change of the curve over the range.
 */
export interface StatisticsTable {
  readonly columns: readonly Column[];
  readonly rows: readonly StatisticsRow[];
  readonly offset: number;
  readonly count: number;
  readonly increase_bytes: number;
  readonly allocations: number;
  readonly allocation_bytes: number;
}

/** Lengths of the steps of a span, once it has been read. */
export interface StepFigures {
  /** of the steps shown by default */
  readonly median_ns: number;
  readonly count: number;
  /** what was started; "" where the recording does not say */
  readonly script: string;
  /** when it began, seconds since the epoch; 0 = not known */
  readonly recorded: number;
}

/** One step in the step strip. */
export interface StepInfo {
  readonly index: number;
  readonly number: number;
  readonly name: string;
  readonly dur_ns: number;
  readonly excluded: string | null;
  readonly outlier: boolean;
  /** of the iteration of an engine that it is or holds; "" none, or of several */
  readonly phase: Phase;
}

/** A step on the host. */
export interface StepMark {
  readonly name: string;
  readonly number: number;
  readonly start_ns: number;
  readonly end_ns: number;
}

/** One chosen step of a recording, on the host, and the ranges directly in it. */
export interface StepMarks {
  /** as the address writes it: "5"; "" = the whole recording, where none is marked */
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly phases: readonly PhaseMark[];
}

/** One step. */
export interface StepMemoryRow {
  /** Its range in the trace. */
  readonly name: string;
  /** Leads to the step alone. */
  readonly number: number;
  /** Used to measure growth: no warm-up, and not cut off. */
  readonly counts: boolean;
  /** Bytes in use as the step began. */
  readonly start_bytes: number;
  /** Bytes in use as the step ended. */
  readonly end_bytes: number;
  /** The most bytes in use during the step. */
  readonly peak_bytes: number;
  /** Number of allocations in the step. */
  readonly allocations: number;
  /** Bytes allocated in the step, releases aside. */
  readonly allocated_bytes: number;
  /** Calls such as cudaMalloc and cudaFree in the step. */
  readonly device_calls: number;
  /** Their time on the host. */
  readonly device_ns: number;
}

/**
 * One step as the charts draw it. Values are exact integers that sum to `dur_ns`.
 *
 * A part is a field of Breakdown, Partition or HostPartition. null: the recording cannot tell it,
 * see `missing`; what is left of a device without its kernels is `unknown_ns`.
 */
export interface StepRow {
  readonly index: number;
  readonly number: number;
  readonly name: string;
  readonly dur_ns: number;
  readonly chosen: boolean;
  readonly outlier: boolean;
  readonly excluded: string | null;
  readonly breakdown: Readonly<Record<string, number | null>>;
  /** of the chosen device */
  readonly partition: Readonly<Record<string, number | null>> | null;
  readonly host: Readonly<Record<string, number | null>> | null;
}

/** The slice that a move leads to; null at the end. */
export interface StepTo {
  readonly to: SliceRef | null;
  /** 1-based among all hits; 0 when that is not known */
  readonly position: number;
  readonly count: number;
}

/** Memory from step to step. */
export interface StepsMemory {
  readonly columns: readonly Column[];
  readonly rows: readonly StepMemoryRow[];
  readonly growth: GrowthAnswer;
  readonly churn: ChurnAnswer;
  /** of a leak */
  readonly sites: readonly LeakSite[];
  /** of leaks such as this, usually */
  readonly causes: readonly string[];
  readonly missing: string;
}

/** The steps of a device; allocations are held against the peak of a range. */
export interface StepsQuery extends MemoryRange {
}

/** One category of the mean step; the first row is the step itself. */
export interface SummaryRow {
  readonly key: string;
  readonly label: string;
  readonly category: string;
  readonly mean_ns: number;
  readonly ratio: number;
  readonly help: string;
}

/** The cross product of tiles and lane blocks of one level. */
export interface TilesQuery {
  readonly level: number;
  /** "120-126" */
  readonly tiles: string;
  /** "3.0,3.16,5.0": track and first lane, a multiple of 16 */
  readonly blocks: string;
  readonly layout?: LayoutName;
}

/** One compilation by torch.compile, on the row of compilations. */
export interface TimelineCompilation {
  /** compile id: frame/version */
  readonly id: string;
  /** the compiled function */
  readonly name: string;
  readonly ts: number;
  readonly dur_ns: number;
  /** no first version */
  readonly is_again: boolean;
}

/** One series of values; `series` in a counter request is its index. */
export interface TimelineCounter {
  readonly key: string;
  readonly group: number;
  /** "memory" | "utilization" | "sm_efficiency" | "queue" | "counter" */
  readonly kind: string;
  readonly label: string;
  /** "bytes" | "ratio" | "count" | "" */
  readonly unit: string;
  readonly definition: string;
  readonly samples: number;
  readonly low: number;
  readonly high: number;
  readonly first_ns: number;
  readonly last_ns: number;
}

/** One kind of arrow. */
export interface TimelineFlowKind {
  readonly kind: number;
  readonly label: string;
  readonly arrows: number;
}

/** A heading above tracks: a process, a device, the recorder. */
export interface TimelineGroup {
  readonly key: string;
  readonly kind: string;
  readonly label: string;
}

/** One kind of slice: its name in the legend, and its number. */
export interface TimelineKind {
  /** SliceKind */
  readonly kind: number;
  /** "op", "module", "python", "runtime", "compute", "communication", … */
  readonly stem: string;
  readonly label: string;
  readonly slices: number;
}

/** Everything the page needs before it asks for the first tile. */
export interface TimelineManifest {
  /** wall clock of 0, ns since the epoch: too wide for a double */
  readonly base_ns: string;
  readonly start_ns: number;
  readonly end_ns: number;
  /** of the file */
  readonly events: number;
  readonly slices: number;
  readonly name_count: number;
  readonly layout: LayoutName;
  /** that can be asked for */
  readonly layouts: readonly FrameLayout[];
  /** streams of one device on which replayed graphs ran: what can be folded */
  readonly graph_streams: number;
  /** whether they are */
  readonly is_folded: boolean;
  /** Python frames that this layout hides */
  readonly hidden: number;
  readonly tile_buckets: number;
  readonly lane_block: number;
  readonly max_level: number;
  readonly groups: readonly TimelineGroup[];
  readonly tracks: readonly TimelineTrack[];
  readonly counters: readonly TimelineCounter[];
  readonly kinds: readonly TimelineKind[];
  readonly flow_kinds: readonly TimelineFlowKind[];
  readonly steps: readonly TimelineStepMark[];
  /** until then a device was on work launched before the recording */
  readonly head_ns: number;
  /** in the order of time; () = none is known */
  readonly compilations: readonly TimelineCompilation[];
  readonly warnings: readonly string[];
  /** what this recording cannot show, and why: "memory", "stacks", … */
  readonly missing: Readonly<Record<string, string>>;
}

/** One step on the ruler: its range on the host, and its length as shown elsewhere. */
export interface TimelineStepMark {
  readonly index: number;
  readonly name: string;
  readonly ts: number;
  readonly end: number;
  /** from the end of the step before to the end of the device work it launched */
  readonly length_ns: number;
}

/** One labelled band of slices; `track` in a tile request is its index. */
export interface TimelineTrack {
  /** stable: "thread/542/542/ops" */
  readonly key: string;
  readonly group: number;
  readonly kind: TrackKind;
  readonly label: string;
  readonly detail: string;
  readonly lanes: number;
  readonly slices: number;
  /** union of its slices */
  readonly busy_ns: number;
  readonly first_ns: number;
  readonly last_ns: number;
  readonly overlaps: number;
  /** Python frames of its thread that the layout hides */
  readonly hidden: number;
  /** what its label or its lanes mean, where they do not say so themselves */
  readonly note: string;
}

/** Data of the chosen trace that the shell needs, whatever the view. */
export interface TraceInfo {
  readonly digest: string;
  readonly run: string;
  readonly worker: string;
  readonly span: string;
  readonly rank: number | null;
  readonly device_type: string;
  readonly step_source: string;
  /** the page's word for a step */
  readonly noun: StepNoun;
  readonly steps: readonly StepInfo[];
  readonly views: readonly ViewState[];
  /** health notes of severity warning or error */
  readonly note_count: number;
  /** "error" | "warning" | "info" | "good" */
  readonly worst: string;
}

/** Device time that is credited to no call, by reason. */
export interface Unattributed {
  /** Why no operator is known. */
  readonly reason: string;
  /** Sum of the durations on the device. */
  readonly device_ns: number;
  /** Kernels, copies and sets. */
  readonly activities: number;
  /** The longest of them. */
  readonly example: string;
  readonly slice: number;
}

/** A value that the user wrote into the file: `add_metadata`, `add_metadata_json`. */
export interface UserValue {
  readonly key: string;
  /** JSON where it is no text; its beginning */
  readonly text: string;
  /** characters that follow */
  readonly more: number;
}

/** One tab. */
export interface ViewInfo {
  readonly stem: string;
  readonly title: string;
  readonly key: string;
  readonly question: string;
}

/** State of one view for the chosen trace. */
export interface ViewState {
  readonly stem: string;
  /** why this trace cannot fill the view */
  readonly unavailable: string | null;
  /** findings of the Overview, notes of Health */
  readonly badge: number | null;
}

/** The step replayed with a change, means over the steps that no rank leaves out. */
export interface WhatIfAnswer {
  /** why there is no answer; "" where there is */
  readonly refused: string;
  readonly sentence: string;
  /** replayed without a change */
  readonly step_ns: number | null;
  readonly edited_ns: number | null;
  /** null: none is claimed */
  readonly gain_ns: number | null;
  /** of the replay without a change: share of the step */
  readonly error_median: number | null;
  readonly error_most: number | null;
}

/**
 * The rank, node, stage or group to set to the median of its peers, or the input.
 *
 * `late`: the ranks that make the others wait; the input where there are none.
 */
export interface WhatIfQuery {
  /** what works like the median of its peers; "late" = the ranks that make the others wait, "stage" = of a pipeline, "group" = transfers of a process group, "input" = no wait for data */
  readonly kind?: "group" | "input" | "late" | "node" | "rank" | "stage";
  /** its number from 0, for rank, node, stage and group */
  readonly target?: number;
}

/** Three ranks to look at together. */
export interface WhoWaits {
  /** row */
  readonly rank: number;
  readonly kind: RankPlaceKind;
}

/** The highest total if a category took nothing: the most that any remedy for it can gain. */
export interface WithoutCategory {
  readonly category: MemoryCategory;
  /** What the memory holds. */
  readonly label: string;
  /** The largest total of the other categories. */
  readonly peak_bytes: number;
  /** Drop of the peak without this category. */
  readonly gain_bytes: number;
}

/** One process of a run, with its spans in time order. */
export interface WorkerInfo {
  readonly name: string;
  readonly rank: number | null;
  readonly spans: readonly SpanInfo[];
  /** its host, by the file once it was read, else by the name; "" unknown */
  readonly node: string;
  /** its number there */
  readonly process: number | null;
}

/** The answer of each view, by its stem. */
export interface ViewAnswers {
  readonly overview: Overview;
  readonly operators: Operators;
  readonly kernels: Kernels;
  readonly timeline: TimelineManifest;
  readonly memory: Memory;
  readonly modules: Modules;
  readonly compile: Compiled;
  readonly speed_of_light: SpeedOfLight;
  readonly distributed: Distributed;
  readonly diff: Diff;
  readonly health: Health;
}

/** The parameters of each view, by its stem. */
export interface ViewQueries {
  readonly overview: OverviewQuery;
  readonly operators: OperatorQuery;
  readonly kernels: KernelQuery;
  readonly timeline: LayoutQuery;
  readonly memory: MemoryQuery;
  readonly modules: ModulesQuery;
  readonly compile: CompileQuery;
  readonly speed_of_light: SpeedQuery;
  readonly distributed: DistributedQuery;
  readonly diff: DiffQuery;
  readonly health: HealthQuery;
}

/** The answer of each part of a view, by its address; downloads have none. */
export interface PartAnswers {
  readonly "overview/idle": Flame;
  readonly "overview/path": CriticalPathAnswer;
  readonly "operators/table": OperatorTable;
  readonly "operators/find": FindAnswer;
  readonly "operators/row": OperatorDetails;
  readonly "operators/flame": Flame;
  readonly "operators/around": Sandwich;
  readonly "kernels/table": KernelTable;
  readonly "kernels/row": KernelDetails;
  readonly "kernels/graph": GraphPage;
  readonly "kernels/nodes": NodeTable;
  readonly "timeline/names": ArrayBuffer;
  readonly "timeline/tiles": ArrayBuffer;
  readonly "timeline/counters": ArrayBuffer;
  readonly "timeline/minimap": ArrayBuffer;
  readonly "timeline/slice": SliceDetails;
  readonly "timeline/move": StepTo;
  readonly "timeline/search": SearchAnswer;
  readonly "timeline/hit": StepTo;
  readonly "timeline/area": AreaAnswer;
  readonly "timeline/flame": Flame;
  readonly "timeline/rows": SliceRows;
  readonly "timeline/flows": FlowAnswer;
  readonly "timeline/bundles": FlowAnswer;
  readonly "timeline/path": PathBand;
  readonly "timeline/path_arrows": PathArrows;
  readonly "memory/curve": MemoryCurve;
  readonly "memory/events": MemoryEventTable;
  readonly "memory/statistics": StatisticsTable;
  readonly "memory/alive": AliveTree;
  readonly "memory/block": BlockDetails;
  readonly "memory/map": AddressMap;
  readonly "memory/map_tiles": ArrayBuffer;
  readonly "memory/compare": MemoryComparison;
  readonly "memory/free": FreeMemoryAnswer;
  readonly "memory/steps": StepsMemory;
  readonly "modules/table": ModuleTable;
  readonly "modules/row": ModuleRow;
  readonly "modules/flame": Flame;
  readonly "speed_of_light/table": SpeedTable;
  readonly "speed_of_light/summary": SpeedSummary;
  readonly "distributed/ops": RankOperations;
  readonly "distributed/sentence": RanksSentence;
  readonly "distributed/what_if": WhatIfAnswer;
  readonly "distributed/hang": HangAnswer;
  readonly "distributed/clocks": RankClocks;
  readonly "distributed/joined": JoinedCollectives;
  readonly "diff/table": DiffTable;
  readonly "diff/pieces": Pieces;
  readonly "diff/marks": DiffMarks;
  readonly "diff/flame": DiffFlame;
}

/** The parameters of each part of a view, by its address. */
export interface PartQueries {
  readonly "overview/idle": IdleQuery;
  readonly "overview/path": PathQuery;
  readonly "operators/table": OperatorQuery;
  readonly "operators/find": FindQuery;
  readonly "operators/row": RowQuery;
  readonly "operators/flame": FlameGraphQuery;
  readonly "operators/around": SandwichQuery;
  readonly "operators/folded": FoldedQuery;
  readonly "kernels/table": KernelQuery;
  readonly "kernels/row": KernelRowQuery;
  readonly "kernels/graph": GraphQuery;
  readonly "kernels/nodes": NodeQuery;
  readonly "timeline/names": NamesQuery;
  readonly "timeline/tiles": TilesQuery;
  readonly "timeline/counters": CountersQuery;
  readonly "timeline/minimap": MinimapQuery;
  readonly "timeline/slice": SliceQuery;
  readonly "timeline/move": MoveQuery;
  readonly "timeline/search": SearchQuery;
  readonly "timeline/hit": HitQuery;
  readonly "timeline/area": AreaQuery;
  readonly "timeline/flame": FlameQuery;
  readonly "timeline/folded": FoldedRangeQuery;
  readonly "timeline/rows": RowsQuery;
  readonly "timeline/flows": FlowsQuery;
  readonly "timeline/bundles": BundlesQuery;
  readonly "timeline/path": PathBandQuery;
  readonly "timeline/path_arrows": PathArrowsQuery;
  readonly "timeline/export": ExportQuery;
  readonly "memory/curve": MemoryQuery;
  readonly "memory/events": MemoryEventQuery;
  readonly "memory/statistics": StatisticsQuery;
  readonly "memory/alive": AliveQuery;
  readonly "memory/block": BlockQuery;
  readonly "memory/map": MapQuery;
  readonly "memory/map_tiles": MapTilesQuery;
  readonly "memory/compare": CompareQuery;
  readonly "memory/free": MemoryQuery;
  readonly "memory/steps": StepsQuery;
  readonly "modules/table": ModulesQuery;
  readonly "modules/row": ModuleRowQuery;
  readonly "modules/flame": ModuleFlameQuery;
  readonly "speed_of_light/table": SpeedQuery;
  readonly "speed_of_light/summary": SpeedQuery;
  readonly "distributed/ops": OperationsQuery;
  readonly "distributed/sentence": RanksQuery;
  readonly "distributed/what_if": WhatIfQuery;
  readonly "distributed/hang": HangQuery;
  readonly "distributed/clocks": AxisQuery;
  readonly "distributed/joined": JoinedQuery;
  readonly "diff/table": DiffTableQuery;
  readonly "diff/pieces": PiecesQuery;
  readonly "diff/marks": DiffQuery;
  readonly "diff/flame": DiffFlameQuery;
}
