/** What is chosen in the Memory view, as the address says it. */
import type { AliveNode, LayerBy, Memory } from "../../api/types.gen";
import { useAddress, useValues } from "../../state/host/environment";
import type { Values } from "../../state/location/fragment";

/** [start, end) in ns from the start of the recording. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

/** Of which instant the treemap is. */
export type AliveAt = "peak" | "second" | "time";

export interface Choice {
  /** "" = the first accelerator, else the host. */
  readonly device: string;
  readonly by: LayerBy;
  /** Of the tables; null = all that the curve shows. */
  readonly range: TimeRange | null;
  /** The curve shows the range alone. */
  readonly isZoomed: boolean;
  readonly aliveAt: AliveAt;
  /** With "time". */
  readonly instant: number;
}

const LAYERS: readonly string[] = ["category", "module", "line", "total"] satisfies LayerBy[];
const INSTANTS: readonly string[] = ["peak", "second", "time"] satisfies AliveAt[];

/** `397-584` in ns; null where the text is no range. */
export function parseTimeRange(text: string | undefined): TimeRange | null {
  const match = /^(\d{1,18})-(\d{1,18})$/.exec(text ?? "");
  const [start, end] = [Number(match?.[1]), Number(match?.[2])];
  return match !== null && end > start ? { start, end } : null;
}

export const formatTimeRange = ({ start, end }: TimeRange) =>
  `${Math.round(start)}-${Math.max(Math.round(end), Math.round(start) + 1)}`;

export function choiceOf(values: Values): Choice {
  const by = values["memory.by"] ?? "";
  const at = values["memory.alive"] ?? "";
  const instant = Number(values["memory.t"]);
  const range = parseTimeRange(values["memory.range"]);
  return {
    device: values["memory.device"] ?? "",
    by: (LAYERS.includes(by) ? by : "category") as LayerBy,
    range,
    isZoomed: range !== null && values["memory.zoom"] === "1",
    aliveAt: (INSTANTS.includes(at) ? at : "peak") as AliveAt,
    instant: Number.isSafeInteger(instant) && instant >= 0 ? instant : 0,
  };
}

/** What is chosen, and what changes it. */
export function useChoice() {
  const address = useAddress();
  const choice = choiceOf(useValues());
  return {
    ...choice,
    /** Another device has other instants: the range and the instant are forgotten. */
    setDevice: (device: string) =>
      address.replace({
        "memory.device": device,
        "memory.range": undefined,
        "memory.zoom": undefined,
        "memory.alive": undefined,
        "memory.t": undefined,
        "memory.row": undefined,
      }),
    setBy: (by: LayerBy) => address.replace({ "memory.by": by === "category" ? undefined : by }),
    setRange: (range: TimeRange | null) =>
      address.replace({
        "memory.range": range === null ? undefined : formatTimeRange(range),
        ...(range === null ? { "memory.zoom": undefined } : {}),
      }),
    setZoomed: (isZoomed: boolean) =>
      address.replace({ "memory.zoom": isZoomed ? "1" : undefined }),
    setAlive: (at: AliveAt, instant?: number) =>
      address.replace({
        "memory.alive": at === "peak" ? undefined : at,
        ...(instant === undefined ? {} : { "memory.t": String(Math.round(instant)) }),
      }),
    /** The blocks of a box of the treemap, as rows of the table. */
    showBlocks: (node: AliveNode, path: readonly AliveNode[]) => {
      const size = node.each_bytes === null ? undefined : String(node.each_bytes);
      const op = path.find(({ kind }) => kind === "op")?.name ?? "";
      address.replace({
        "memory.range": undefined,
        "memory.zoom": undefined,
        "memory.tab": undefined,
        "memory.search": op === "" ? undefined : op,
        "memory.category": node.category,
        "memory.min": size,
        "memory.max": size,
      });
    },
    set: (key: string, value: string) =>
      address.replace({ [`memory.${key}`]: value === "" ? undefined : value }),
  };
}

/** What a part is asked about: the device, and the range or the chosen steps. */
export function scopeOf(answer: Memory, range: TimeRange | null) {
  const { start, end } = range ?? { start: answer.start_ns, end: answer.end_ns };
  return { device: answer.device, start_ns: start, end_ns: end };
}
