// Written by tools/gen_api_types.py from the Structs of tb_plugin. Do not edit: run that script.

export type Severity = "high" | "medium" | "low" | "info";

export type State = "waiting" | "queued" | "reading" | "ready" | "refused" | "failed";

/** A question, and whether this recording answers it. */
export interface Answerable {
  /** "Which line of code?" */
  readonly question: string;
  readonly has: string;
  readonly lacks: string;
  readonly answer: "in part" | "no" | "yes";
}

/**
 * A step by the classic categories: each instant counts for the first active one.
 *
 * The order is that of the fields; the eight sum to the step.
 */
export interface Breakdown {
  readonly kernel_ns: number;
  readonly memcpy_ns: number;
  readonly memset_ns: number;
  readonly communication_ns: number;
  readonly runtime_ns: number;
  readonly dataloader_ns: number;
  readonly cpu_exec_ns: number;
  readonly other_ns: number;
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

/** How the run was recorded: label → value, in order. */
export interface Configuration {
  readonly label: string;
  readonly value: string;
}

/** How many events of one kind. */
export interface Count {
  readonly label: string;
  readonly count: number;
  readonly help: string;
}

/** One device and how well it was used; no gauges where it was not. */
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

/** The body of every answer that is not 200, 202 or 304. */
export interface ErrorAnswer {
  readonly error: ErrorInfo;
}

/** The one form in which an error leaves the program: {"error": {"kind", "message", "hint"}}. */
export interface ErrorInfo {
  readonly kind: string;
  readonly message: string;
  readonly hint: string;
}

/** A figure behind a finding, with what it is held against. */
export interface Evidence {
  readonly name: string;
  readonly value: number;
  /** "ns" | "ratio" | "bytes" | "count" */
  readonly unit: string;
  readonly threshold: number | null;
}

/** One file seen below a logdir: accepted, or why not. */
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
}

/** A ceiling, never a promise. */
export interface Gain {
  readonly ns_per_step: number;
  readonly ratio: number;
  /** how the ceiling was formed */
  readonly method: string;
  /** the part of the partition it claims, so that overlapping ceilings are not added */
  readonly claims: string;
}

/** One figure of the GPU summary. `ratio` null: not available, `reason` says why. */
export interface Gauge {
  readonly key: string;
  readonly label: string;
  readonly ratio: number | null;
  readonly reason: string;
  readonly help: string;
}

/** The answer. */
export interface Health {
  readonly sentence: Sentence;
  /** worst first */
  readonly notes: readonly Note[];
  /** what was read: ops, kernels, …; sums to the events of the file */
  readonly counts: readonly Count[];
  readonly file_bytes: number;
  readonly text_bytes: number;
  /** a recording that fills every gap */
  readonly snippet: readonly SnippetLine[];
  readonly answers: readonly Answerable[];
  /** label → value of what the file says about itself */
  readonly recording: Readonly<Record<string, string>>;
}

/** No parameters. */
export interface HealthQuery {
}

/** A step without device activity, seen from the main thread. All parts sum to the step. */
export interface HostPartition {
  readonly dataloader_ns: number;
  readonly forward_ns: number;
  readonly backward_ns: number;
  readonly optimizer_ns: number;
  readonly communication_ns: number;
  readonly compile_ns: number;
  /** annotations and Python frames outside the parts above */
  readonly python_ns: number;
  readonly uninstrumented_ns: number;
}

/** What this program is and which views it has. */
export interface Info {
  readonly version: string;
  /** "python" | "native" */
  readonly reader: string;
  /** "tensorboard" | "standalone" */
  readonly host: string;
  readonly vscode: boolean;
  /** the registry, in tab order */
  readonly views: readonly ViewInfo[];
  /** the three lines to paste into a training loop */
  readonly recipe: string;
}

/** One thing to know about a trace. */
export interface Note {
  /** key of note_kinds.CATALOG */
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

/** The answer. */
export interface Overview {
  readonly sentence: Sentence;
  /** "CPU" when no device activity was recorded */
  readonly device_type: string;
  /** the device the ruler and the partitions show */
  readonly device_row: number | null;
  readonly ruler: Ruler;
  /** all of them, chosen or not */
  readonly steps: readonly StepRow[];
  /** "" or a sentence saying what stands for steps */
  readonly step_source: string;
  readonly summary: readonly SummaryRow[];
  readonly devices: readonly DeviceCard[];
  readonly configuration: readonly Configuration[];
  readonly findings: readonly Finding[];
  readonly unchecked: readonly Unchecked[];
  readonly rule_count: number;
  /** part of the page → "not available, because …, record with …" */
  readonly missing: Readonly<Record<string, string>>;
  /** titles of health notes that touch these figures */
  readonly taints: readonly string[];
}

/** Which steps, seen from which device. */
export interface OverviewQuery {
  /** "" = all but warm-up and incomplete ones, "all", or indexes: "3", "2-5", "1,4-6" */
  readonly steps?: string;
  /** row of the devices; null = the busiest */
  readonly device?: number | null;
}

/**
 * A step seen from one device. The first five sum to the step; the rest refine them.
 *
 * `overlap_ns` is the part of compute under which communication ran. The `idle_*` parts say
 * what the host did while the device was idle and sum to `idle_ns`.
 */
export interface Partition {
  readonly compute_ns: number;
  readonly exposed_communication_ns: number;
  readonly exposed_copy_ns: number;
  readonly memset_ns: number;
  readonly idle_ns: number;
  readonly overlap_ns: number;
  readonly idle_dataloader_ns: number;
  readonly idle_runtime_ns: number;
  /** the host sat in a synchronizing or blocking call */
  readonly idle_sync_ns: number;
  /** ops, annotations, Python of the launching threads */
  readonly idle_cpu_exec_ns: number;
  readonly idle_unattributed_ns: number;
}

/** How far a file is. */
export interface ReadProgress {
  /** "reading events" | "linking launches" | "summarizing" | "writing the cache" | "waiting for a free process" */
  readonly phase: string;
  readonly bytes_done: number;
  readonly bytes_total: number;
  readonly events: number;
  /** since reading began */
  readonly seconds: number;
  /** null: cannot be told yet */
  readonly seconds_left: number | null;
}

/** The body of a 202: the trace is being read; ask again. */
export interface Reading {
  readonly reading: ReadProgress;
}

/** A door: to a view of this page (`view` + `params`) or to a document (`url`). */
export interface Reference {
  readonly text: string;
  readonly view: string;
  readonly params: Readonly<Record<string, string>>;
  readonly url: string;
}

/** The mean of the chosen steps, part by part; the parts sum to the step. */
export interface Ruler {
  /** "Mean step, seen from GPU 0" */
  readonly title: string;
  /** sum over the chosen steps: the exact proof */
  readonly total_ns: number;
  readonly step_count: number;
  readonly mean_ns: number;
  readonly shares: readonly Share[];
  /** mean of compute under which communication ran */
  readonly overlap_ns: number;
  readonly busy_ns: number;
  readonly idle_ns: number;
}

/** A folder of traces; `name` is unique over all logdirs. */
export interface RunInfo {
  readonly name: string;
  readonly logdir: string;
  readonly modified: number;
  readonly workers: readonly WorkerInfo[];
}

/** The answer first. Text between backticks is code. */
export interface Sentence {
  /** "The GPU waits for the DataLoader for a third of every step." */
  readonly headline: string;
  readonly detail: string;
  /** "6 of 6 steps agree" */
  readonly agreement: string;
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
}

/** One line of the recipe. */
export interface SnippetLine {
  readonly text: string;
  /** not in this recording: what the reader should add */
  readonly added: boolean;
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
}

/** One step as the step strip draws it. */
export interface StepInfo {
  readonly index: number;
  readonly number: number;
  readonly name: string;
  readonly dur_ns: number;
  readonly excluded: string | null;
  readonly outlier: boolean;
}

/** One step as the charts draw it. Values are exact integers that sum to `dur_ns`. */
export interface StepRow {
  readonly index: number;
  readonly number: number;
  readonly name: string;
  readonly dur_ns: number;
  readonly chosen: boolean;
  readonly outlier: boolean;
  readonly excluded: string | null;
  readonly breakdown: Breakdown;
  /** of the chosen device */
  readonly partition: Partition | null;
  readonly host: HostPartition | null;
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

/** What the shell needs of the chosen trace, whatever the view. */
export interface TraceInfo {
  readonly digest: string;
  readonly run: string;
  readonly worker: string;
  readonly span: string;
  readonly rank: number | null;
  readonly device_type: string;
  readonly step_source: string;
  readonly steps: readonly StepInfo[];
  readonly views: readonly ViewState[];
  /** health notes of severity warning or error */
  readonly note_count: number;
  /** "error" | "warning" | "info" | "good" */
  readonly worst: string;
}

/** A rule that could not run, and what it needs. */
export interface Unchecked {
  readonly id: string;
  readonly title: string;
  readonly needs: string;
}

/** One tab. */
export interface ViewInfo {
  readonly stem: string;
  readonly title: string;
  readonly key: string;
  readonly question: string;
}

/** What one view has to say of the chosen trace. */
export interface ViewState {
  readonly stem: string;
  /** why this trace cannot fill the view */
  readonly unavailable: string | null;
  /** findings of the Overview, notes of Health */
  readonly badge: number | null;
}

/** One process of a run, with its spans in time order. */
export interface WorkerInfo {
  readonly name: string;
  readonly rank: number | null;
  readonly spans: readonly SpanInfo[];
}

/** The answer of each view, by its stem. */
export interface ViewAnswers {
  readonly overview: Overview;
  readonly health: Health;
}

/** The parameters of each view, by its stem. */
export interface ViewQueries {
  readonly overview: OverviewQuery;
  readonly health: HealthQuery;
}
