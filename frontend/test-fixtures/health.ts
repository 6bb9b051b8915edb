/** The Health of the ResNet-50 training, and the files of a logdir where not all went well. */
import type { FileInfo, Health, Note } from "../src/api/types.gen";
import { fileOf } from "./catalog";
import { headOf } from "./heads";

export const noteOf = (over: Partial<Note>): Note => ({
  kind: "note",
  severity: "info",
  title: "A note",
  count: 0,
  total: 0,
  consequence: "",
  remedy: "",
  example: "",
  offset: -1,
  taints: [],
  ...over,
});

export const HEALTH: Health = {
  sentence: {
    headline: "Read completely. 2\u00a0warnings limit the answers.",
    detail:
      "75,718 events in 1.1 MiB (33.5 MiB unpacked), nothing skipped or repaired. Recorded by torch 1.9 on 1 of 4 GPUs.",
    agreement: "",
    cause: "",
    beyond: "",
  },
  notes: [
    noteOf({
      kind: "no_addresses",
      severity: "warning",
      title: "Allocator events carry no addresses or totals",
      count: 12838,
      consequence:
        "Memory shows a relative curve only. Lifetimes, categories and leaks need addresses, which torch records since 1.10.",
      remedy: "Record with torch 1.10 or later.",
      example: '{"ph": "i", "name": "[memory]", "args": {"Bytes": 1024}}',
      offset: 5211,
      taints: ["memory", "overview"],
    }),
    noteOf({
      kind: "no_python",
      severity: "warning",
      title: "No Python frames",
      count: 23646,
      total: 23646,
      consequence:
        "Modules and the flame graph by line are not available. Call stacks of operators are: they were recorded as text.",
      taints: ["modules"],
    }),
    noteOf({
      title: "Times are whole microseconds",
      consequence:
        "Kernels under 5 µs (5,035 of 8,772) can be off by 20 % each; sums are not biased.",
    }),
    noteOf({
      severity: "good",
      title: "Every kernel has its launch",
      count: 8772,
      total: 8772,
      consequence: "Idle causes and operator device times are complete.",
    }),
  ],
  counts_columns: [headOf("label", "Kind"), headOf("count", "Events", { is_numeric: true })],
  counts: [
    { label: "Ops", count: 23646, help: "Operators on the host." },
    { label: "Kernels", count: 8772, help: "Kernels on devices." },
    { label: "Allocator events", count: 12838, help: "Allocations and frees." },
    { label: "Names, flow ends and the rest", count: 30462, help: "" },
  ],
  file_bytes: 1_153_434,
  text_bytes: 35_127_296,
  snippet: [
    { text: "from torch.profiler import profile, schedule", added: false },
    { text: "from kinetoscope.handlers import tensorboard_trace_handler", added: false },
    { text: "", added: false },
    { text: "with profile(", added: false },
    { text: "    schedule=schedule(wait=1, warmup=2, active=6, repeat=1),", added: false },
    { text: '    on_trace_ready=tensorboard_trace_handler("./log"),', added: false },
    { text: "    record_shapes=True,  # shapes of ops", added: false },
    { text: "    profile_memory=True,  # what fills the memory, and its peak", added: true },
    { text: "    with_stack=True,  # source lines and modules", added: true },
    { text: ") as prof:", added: false },
    { text: "    for batch in loader:", added: false },
    { text: "        train(batch)", added: false },
    { text: "        prof.step()", added: false },
  ],
  answers_columns: [
    headOf("question", "Question", { kind: "words" }),
    headOf("answer", "Answer"),
    headOf("has", "Has", { kind: "text" }),
    headOf("lacks", "Lacks", { kind: "text" }),
  ],
  answers: [
    { question: "Where did the step go?", has: "ops, kernels, launches", lacks: "", answer: "yes" },
    {
      question: "Which line of code?",
      has: "stacks as text",
      lacks: "Python frames",
      answer: "in part",
    },
    {
      question: "What filled the memory?",
      has: "sizes",
      lacks: "addresses, totals",
      answer: "in part",
    },
    { question: "Which module?", has: "", lacks: "Python frames or module names", answer: "no" },
    { question: "Did ranks wait?", has: "", lacks: "one rank only", answer: "no" },
  ],
  user: [],
  user_more: 0,
  recording: { "Recorded by": "torch 1.9 or 1.10", Host: "dgx-1", Resolution: "1 µs" },
};

/** Five in use or partly so, two that are not. */
export const FILES: readonly FileInfo[] = [
  fileOf("resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz", "ready"),
  fileOf("resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz", "ready", {
    events: 71_424,
    bytes: 1_048_576,
  }),
  fileOf("ddp/rank0.pt.trace.json.gz", "ready", { bytes: 41_984, events: 1853, read_seconds: 0.1 }),
  fileOf("ddp/rank1.pt.trace.json.gz", "ready", { bytes: 40_960, events: 1783, read_seconds: 0.1 }),
  fileOf("ddp/rank2.pt.trace.json.gz", "ready", {
    bytes: 4096,
    events: 1120,
    read_seconds: 0.1,
    verdict: "truncated",
    reason: "gzip ends early; everything before 61 % was recovered, step 3 is incomplete",
  }),
  fileOf("ddp/rank3.pt.trace.json.gz.tmp", "waiting", {
    bytes: 12_288,
    run: null,
    reason: "a temporary name: still being written",
  }),
  fileOf("exports/et.json", "refused", {
    bytes: 18_432,
    run: null,
    reason: "an execution trace: record a Kineto trace beside it",
  }),
];
