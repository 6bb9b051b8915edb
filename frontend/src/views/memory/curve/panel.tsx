/** Allocated and reserved memory over time: of a device, by what it holds, with the range that is chosen. */
import { type ReactNode, useState } from "react";
import type { Memory, MemoryCurve, MemoryDeviceRow } from "../../../api/types.gen";
import { plainTable } from "../../../base/text/delimited";
import { bytes, count, DASH, MINUS, notZero, share, time, times } from "../../../base/text/format";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
import { Select } from "../../../components/controls/select";
import { ViewLink } from "../../../components/controls/view_link";
import { helpOf } from "../../../components/data_table/declared";
import { Panel } from "../../../components/states/panel";
import { ProblemNote } from "../../../components/states/problem_note";
import { Prose } from "../../../components/text/prose";
import type { Cell } from "../../../state/cell";
import { useLeadsTo } from "../../../state/page_context";
import { useAsked, usePart } from "../../../state/parts";
import { scopeOf, type useChoice } from "../choice";
import { Curve } from "./curve";
import { stepsOfRange } from "./frame";
import { CurveLegend } from "./legend";
import type { Life } from "./paint";

interface CurvePanelProps {
  readonly answer: Memory;
  readonly isOld: boolean;
  readonly choice: ReturnType<typeof useChoice>;
  readonly device: MemoryDeviceRow;
  readonly cursor: Cell<number | null>;
  readonly life: Cell<Life | null>;
  /** Of the instant that the treemap shows; null: the peak's. */
  readonly instant: number | null;
}

/** A figure of the whole, what it is, and what stands behind it. */
type Fact = readonly [value: string, words: string, why: string];

function reservedFact({ devices_columns: heads }: Memory, device: MemoryDeviceRow): Fact {
  const { peak_bytes: allocated, peak_reserved_bytes: reserved } = device;
  if (reserved === null || allocated === null || reserved === 0) {
    return [DASH, "peak reserved", device.missing["reserved"] ?? ""];
  }
  const unused = share((reserved - allocated) / reserved);
  const words = `peak reserved, ${unused} of it never in use at once`;
  return [bytes(reserved), words, helpOf(heads, "peak_reserved_bytes")];
}

function growthFact({ growth }: Memory): Fact {
  const { verdict, bytes_per_step: each, sentence } = growth;
  if (verdict === "not known") {
    return [DASH, "growth per step", sentence];
  }
  const sign = each < 0 ? MINUS : "+";
  const words = verdict === "leak" ? "growth per step: a leak" : `growth per step: ${sentence}`;
  return [each === 0 ? "0 B" : sign + bytes(Math.abs(each)), words, sentence];
}

function churnFact({ churn, steps }: Memory): Fact {
  const where = steps.length === 0 ? "in the recording" : "per step";
  const reuse = churn.reuse_ratio;
  const often = churn.allocations_per_step;
  // A mean below 1 is no 0.
  const shown = often > 0 && often < 1 ? notZero(often, 2) : count(Math.round(often));
  const words = `allocations ${where}${reuse === null ? "" : `, ${times(reuse)} the peak in bytes`}`;
  return [shown, words, churn.sentence];
}

function peakFacts(answer: Memory, device: MemoryDeviceRow): readonly Fact[] {
  const { peak, curve, devices_columns: heads } = answer;
  const top = peak.categories[0];
  const words = curve.is_change ? "most above where the recording began" : "peak allocated";
  return [
    [bytes(peak.bytes), words, helpOf(heads, "peak_bytes")],
    top === undefined
      ? [DASH, "what the peak is for", device.missing["blocks"] ?? ""]
      : [share(top.ratio), `of the peak: ${top.label}, ${bytes(top.bytes)}`, top.why],
  ];
}

/** Figures of the whole, each with what it means. */
function Facts({ answer, device }: { answer: Memory; device: MemoryDeviceRow }) {
  const facts = [
    ...peakFacts(answer, device),
    reservedFact(answer, device),
    growthFact(answer),
    churnFact(answer),
  ];
  return (
    <dl className="mem-facts">
      {facts.map(([value, words, why]) => (
        <div key={words} title={why.replaceAll("`", "")}>
          <dt>{words}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const toPlain = (curve: MemoryCurve) =>
  plainTable<number>([
    ["ts_ns", (at) => curve.ts[at] ?? null],
    ["allocated_bytes", (at) => curve.allocated[at] ?? null],
    ...(curve.reserved === null
      ? []
      : ([["reserved_bytes", (at: number) => curve.reserved?.[at] ?? null]] as const)),
    ...curve.layers.map(
      ({ label, values }) => [`${label}_bytes`, (at: number) => values[at] ?? null] as const,
    ),
  ])(curve.ts.map((_, at) => at));

/** What this device's recording does not have, in words, each with the way to record it. */
function Missing({ answer, device }: { answer: Memory; device: MemoryDeviceRow }) {
  const keys = ["totals", "reserved", "capacity", "blocks", "before"];
  const notes = keys.flatMap((key) => device.missing[key] ?? []);
  const { curve } = answer;
  const capacity = device.capacity_bytes;
  const all: ReactNode[] = [...new Set([...notes, answer.missing["modules"] ?? ""])]
    .filter((text) => text !== "")
    .map((text) => <Prose key={text} text={text} />);
  if (!curve.is_exact) {
    all.unshift(
      `Of ${count(curve.events)} events those are drawn that change what is seen; no peak is lost. A range that is zoomed to shows more.`,
    );
  }
  if (capacity !== null) {
    all.unshift(`The device has ${bytes(capacity)}.`);
  }
  return all.length === 0 ? null : (
    <details className="mem-missing hint">
      <summary>
        About this curve: {all.length} {all.length === 1 ? "note" : "notes"}
      </summary>
      <ul>
        {all.map((note, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: notes have no other name
          <li key={place}>{note}</li>
        ))}
      </ul>
    </details>
  );
}

/** The chosen range in words, and what can be done with it. */
function RangeTools({ answer, choice, device }: Omit<CurvePanelProps, "isOld">) {
  const { range, isZoomed } = choice;
  const hasTrace = useLeadsTo("timeline");
  if (range === null) {
    return (
      <p className="hint mem-range">
        {device.has_blocks
          ? "Drag to choose a range, for both tables; click to see the live blocks at an instant."
          : "Drag to choose a range, for the table."}
      </p>
    );
  }
  const steps = stepsOfRange(answer.steps, range);
  return (
    <div className="row wrap mem-range" role="status">
      <span className="hint">
        {time(range.start)}–{time(range.end)}
        {steps === "" ? "" : ` · ${steps}`}
      </span>
      <button type="button" className="btn small" onClick={() => choice.setZoomed(!isZoomed)}>
        {isZoomed ? "Zoom out" : "Zoom to it"}
      </button>
      {hasTrace ? (
        <ViewLink
          stem="timeline"
          params={{ at: `${range.start}-${range.end}` }}
          className="btn quiet small"
        >
          In the trace
        </ViewLink>
      ) : null}
      <button type="button" className="btn quiet small" onClick={() => choice.setRange(null)}>
        Clear range <kbd>Esc</kbd>
      </button>
    </div>
  );
}

/** The curve that is shown: of all, or of the range alone. */
function useShownCurve(answer: Memory, { by, range, isZoomed }: CurvePanelProps["choice"]) {
  const asked = useAsked();
  const query = isZoomed ? { ...scopeOf(answer, range), by } : null;
  const { data, problem, isLoading, again } = usePart("memory/curve", asked, query, true);
  return {
    curve: isZoomed && data !== undefined ? data : answer.curve,
    isOld: isZoomed && isLoading,
    problem: isZoomed ? problem : null,
    again,
  };
}

/** What is drawn, in words. */
function titleOf(curve: MemoryCurve): string {
  const what = curve.is_change ? "Change of allocated memory" : "Allocated memory";
  return curve.layers.length === 0 ? what : `${what} by what it holds`;
}

function DeviceChoice({ answer, choice, device }: Omit<CurvePanelProps, "isOld">) {
  return answer.devices.length > 1 ? (
    <Select
      label="Device"
      options={answer.devices.map(({ key, label }) => [key, label] as const)}
      value={answer.device}
      onChange={choice.setDevice}
    />
  ) : (
    <span className="chip hollow">{device.label}</span>
  );
}

function LayerChoice({ answer, choice, device }: Omit<CurvePanelProps, "isOld">) {
  const blocks = device.missing["blocks"] ?? "";
  const modules = blocks === "" ? (answer.missing["modules"] ?? "") : blocks;
  return (
    <Segmented
      label="Divide by"
      options={[
        ["category", "Category", blocks],
        ["module", "Module", modules],
        [
          "line",
          answer.is_snapshot ? "Line" : "Function",
          blocks === "" ? (answer.missing["stacks"] ?? "") : blocks,
        ],
        ["total", "Total only"],
      ]}
      value={blocks === "" ? choice.by : "total"}
      onChange={choice.setBy}
    />
  );
}

export function CurvePanel(props: CurvePanelProps) {
  const { answer, choice, device, cursor, life, instant } = props;
  const [active, setActive] = useState<string | null>(null);
  const { curve, isOld, problem, again } = useShownCurve(answer, choice);
  return (
    <Panel
      title={titleOf(curve)}
      isOld={props.isOld || isOld}
      mark={<DeviceChoice {...props} />}
      controls={
        <>
          <LayerChoice {...props} />
          <CopyTable label="the curve" table={() => toPlain(curve)} />
        </>
      }
    >
      <Facts answer={answer} device={device} />
      <CurveLegend
        curve={curve}
        shares={choice.by === "category" ? answer.peak.categories : []}
        active={active}
        onActive={setActive}
        cursor={cursor}
      />
      {problem === null ? null : <ProblemNote problem={problem} again={() => again()} />}
      <Curve
        curve={curve}
        steps={answer.steps}
        capacity={device.capacity_bytes}
        active={active}
        range={choice.range}
        onRange={choice.setRange}
        instant={instant}
        onInstant={(at) => {
          // Without blocks nothing is known of an instant but its total.
          if (device.has_blocks) {
            choice.setAlive("time", at);
          }
        }}
        cursor={cursor}
        life={life}
      />
      <RangeTools {...props} />
      <Missing answer={answer} device={device} />
    </Panel>
  );
}
