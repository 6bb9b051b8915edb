import { useId, useState } from "react";
import type { DeviceCard, Overview, OverviewQuery, Reference } from "../../api/types.gen";
import { textWidth, useWidth } from "../../base/measure";
import { plainTable } from "../../base/text/delimited";
import { axisNumber, inScale, NBSP, time, withUnit } from "../../base/text/format";
import { roundTicks } from "../../base/text/ticks";
import { fillClass } from "../../components/charts/category";
import { LightBar, utilizationWords } from "../../components/charts/light_bar";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { Select } from "../../components/controls/select";
import { ViewLink } from "../../components/controls/view_link";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { canFill, usePage, useWords } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import { Legend } from "./legend";
import {
  type Part,
  type RulerMode,
  type RulerModel,
  rulerModel,
  shortLabel,
  stepOf,
} from "./parts";

/** A small sign after a title: notes of Health touch these figures. */

export function TaintMark({ taints }: { taints: readonly string[] }) {
  if (taints.length === 0) {
    return null;
  }
  return (
    <ViewLink
      stem="health"
      className="taint"
      title={`Limits of these figures:\n${taints.join("\n")}`}
    >
      <span aria-hidden="true">△</span>
      <span className="unseen">Notes on these figures: {taints.join("; ")}</span>
    </ViewLink>
  );
}

/** The mean step, drawn once at full width: busy at the left, idle at the right. */

const LABEL_FONT = "600 11px system-ui, sans-serif";
const LABEL_PADDING = 14;
const TICK_FONT = '400 11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

const MODES = [
  ["mean", "Mean"],
  ["median", "Median"],
  ["worst", "Longest"],
] as const;

function Brackets({ model, device }: { model: RulerModel; device: string }) {
  const { busy, idle, scale } = model;
  const { name: unit } = scale.unit;
  return (
    <>
      <div className="ruler-words">
        <span style={{ flexBasis: `${busy.ratio * 100}%` }}>
          {device} busy {busy.time} {unit} · <b>{busy.percent}</b>
        </span>
        <span>
          {device} idle {idle.time} {unit} · <b>{idle.percent}</b>
        </span>
      </div>
      <div className="ruler-brackets" aria-hidden="true">
        {[busy.ratio, idle.ratio].map((ratio, place) =>
          ratio > 0 ? <i key={place === 0 ? "busy" : "idle"} style={{ flexGrow: ratio }} /> : null,
        )}
      </div>
    </>
  );
}

interface SegmentProps {
  readonly part: Part;
  readonly unit: string;
  readonly width: number;
  readonly isDim: boolean;
  /** Of this part, the share under which communication ran. */
  readonly overlap: number;
  /** The event that is most of it, in the Trace view. */
  readonly door: Reference | null;
}

const figuresOf = (part: Part, unit: string) => `${part.time}${NBSP}${unit} · ${part.percent}`;

/** Whether name and value stand in the bar itself. */
function isLabelled(part: Part, unit: string, width: number, overlap: number): boolean {
  const lines = [shortLabel(part), figuresOf(part, unit)];
  const needed = Math.max(...lines.map((text) => textWidth(text, LABEL_FONT)));
  return needed + LABEL_PADDING < width * part.ratio * (1 - overlap);
}

function Segment({ part, unit, width, isDim, overlap, door }: SegmentProps) {
  const label = shortLabel(part);
  const value = figuresOf(part, unit);
  const title = `${part.label}: ${value}\n${part.help}`;
  return (
    <div
      className={`ruler-part ${fillClass(part.category, part.ghost)} ${isDim ? "dimmed" : ""}`}
      style={{ flexGrow: part.ratio }}
      title={title}
    >
      {door === null ? null : (
        <ViewLink
          stem={door.view}
          params={door.params}
          className="ruler-door"
          title={`${title}\n${door.text}`}
        >
          <span className="unseen">{`${part.label}, ${value}: ${door.text}`}</span>
        </ViewLink>
      )}
      {overlap > 0 ? (
        <i className="k overlap ruler-overlap" style={{ width: `${overlap * 100}%` }} />
      ) : null}
      {isLabelled(part, unit, width, overlap) ? (
        <>
          <b>{label}</b>
          <span>{value}</span>
        </>
      ) : null}
    </div>
  );
}

const partsTable = plainTable<Part>([["part", ({ label }) => label], "ns", "ratio"]);

/** The proof is a tooltip, but said aloud where it fails. */
function RulerHint({ model }: { model: RulerModel }) {
  const words = useWords();
  const { total_ns, scale, steps, proof, isProven } = model;
  const shown = [withUnit(total_ns, scale), words(steps), isProven ? "" : proof];
  return <span title={proof}>{shown.filter(Boolean).join(" · ")}</span>;
}

function Ticks({ model, width }: { model: RulerModel; width: number }) {
  const { unit } = model.scale;
  const whole = model.total_ns / unit.size;
  const ticks = roundTicks(whole, Math.max(2, Math.min(10, Math.floor(width / 110))));
  return (
    <div className="ruler-ticks" aria-hidden="true">
      {ticks.map((tick) => {
        const words = tick === 0 ? `${axisNumber(tick)}${NBSP}${unit.name}` : axisNumber(tick);
        // Around its place, but never over the edge of the ruler.
        const wide = Math.ceil(textWidth(words, TICK_FONT)) + 1;
        const place = whole > 0 ? (tick / whole) * width : 0;
        const left = Math.min(place - wide / 2, width - wide);
        return (
          <span key={tick} style={{ left: Math.max(0, left) }}>
            {words}
          </span>
        );
      })}
    </div>
  );
}

/** Which device the partition is of, when more than one was used. */
function DeviceChooser({ devices, row }: { devices: readonly DeviceCard[]; row: number | null }) {
  const address = useAddress();
  const id = useId();
  const used = devices.filter((device) => device.used);
  if (used.length < 2 || row === null) {
    return null;
  }
  const keyOf = ({ type, index }: DeviceCard) => `${type.toLowerCase()}:${index}`;
  const shown = used.find((device) => device.row === row);
  const choice = {
    value: shown === undefined ? "" : keyOf(shown),
    options: used.map((device) => [keyOf(device), `${device.type} ${device.index}`] as const),
    onChange: (device: string) => address.replace({ device }),
  };
  if (used.length <= 4) {
    return <Segmented label="Device" {...choice} />;
  }
  return (
    <label className="row hint" htmlFor={id}>
      Device
      <Select id={id} {...choice} />
    </label>
  );
}

function toMode(text: string | undefined): RulerMode {
  return MODES.find(([mode]) => mode === text)?.[0] ?? "mean";
}

function titleOf(overview: Overview, mode: RulerMode): string {
  const step = stepOf(overview, mode);
  if (step === null) {
    return overview.ruler.title;
  }
  const name = mode === "worst" ? "Longest step" : "Median step";
  return `${name}, ${step.number}${overview.ruler.title.replace(/^.*?(?= on )/, "")}`;
}

export function Ruler({ overview, isOld }: { overview: Overview; isOld: boolean }) {
  const address = useAddress();
  const mode = toMode(useValues()["overview.ruler"]);
  const [bar, width] = useWidth<HTMLElement>();
  const [active, setActive] = useState<string | null>(null);
  const model = rulerModel(overview, mode);
  const { scale, parts, total_ns, overlap_ns } = model;
  const device = overview.devices.find((card) => card.row === overview.device_row);
  const summary = parts
    .filter((part) => part.ns > 0)
    .map((part) => `${part.label} ${part.time} ${scale.unit.name}, ${part.percent}`)
    .join("; ");
  const doors = new Map(overview.ruler.shares.map(({ key, link }) => [key, link]));
  const overlapOf = ({ key, ns }: Part) => (key === "compute_ns" && ns > 0 ? overlap_ns / ns : 0);
  // What stands in the bar is not repeated below it; the longest of the rest come first.
  const named = parts
    .filter((part) => !isLabelled(part, scale.unit.name, width, overlapOf(part)))
    .sort((a, b) => b.ns - a.ns);
  const isOneStep = overview.steps.filter((step) => step.chosen).length < 2;
  return (
    <Panel
      title={titleOf(overview, mode)}
      mark={<TaintMark taints={overview.taints} />}
      hint={<RulerHint model={model} />}
      isOld={isOld}
      controls={
        <>
          <CopyTable label="the step" table={() => partsTable(parts)} />
          <DeviceChooser devices={overview.devices} row={overview.device_row} />
          {isOneStep ? null : (
            <Segmented
              label="Which step"
              value={mode}
              options={MODES}
              onChange={(next) =>
                address.replace({ "overview.ruler": next === "mean" ? undefined : next })
              }
            />
          )}
        </>
      }
    >
      {device === undefined || overview.ruler.idle_ns === null ? null : (
        <Brackets model={model} device={device.type === "" ? "Device" : device.type} />
      )}
      <figure ref={bar} className="ruler" aria-label={`${time(total_ns)}: ${summary}`}>
        {parts.map((part) =>
          part.ns > 0 ? (
            <Segment
              key={part.key}
              part={part}
              unit={scale.unit.name}
              width={width}
              isDim={active !== null && active !== part.key}
              door={mode === "mean" ? (doors.get(part.key) ?? null) : null}
              overlap={overlapOf(part)}
            />
          ) : null,
        )}
      </figure>
      <Ticks model={model} width={width} />
      <Legend
        width={width}
        unit={scale.unit.name}
        active={active}
        onActive={setActive}
        entries={[
          ...named.map((part) => ({ ...part, value: part.time })),
          ...(overlap_ns > 0
            ? [
                {
                  key: "overlap_ns",
                  label:
                    device === undefined
                      ? "collectives under other work"
                      : "of it overlapping communication",
                  category: "overlap",
                  ghost: false,
                  help:
                    device === undefined
                      ? "Collectives of other threads while the main thread worked: counted under that work."
                      : "Compute under which communication ran: part of Compute.",
                  value: inScale(overlap_ns, scale),
                },
              ]
            : []),
        ]}
      />
    </Panel>
  );
}

/** How much of the step the data sheet of the device explains, and where the rest is. */

interface LightProps {
  readonly query: OverviewQuery;
  readonly isOld: boolean;
}

/** Asked for apart, so that the Overview does not wait for it. */
export function Light({ query, isOld }: LightProps) {
  const { shown } = usePage();
  const can = canFill(shown, "speed_of_light");
  const { data } = usePart("speed_of_light/summary", useAsked(), can ? query : null);
  // Without light the bar would say nothing that the step's own does not.
  const isLit = data?.parts.some(({ key }) => key === "light") ?? false;
  if (data === undefined || !(isLit || data.source === "measured")) {
    return null;
  }
  // The mean step, as in the bar above.
  const steps = Math.max(data.step_count, 1);
  return (
    <Panel
      title="Speed of light"
      className="apart"
      hint={utilizationWords(data)}
      isOld={isOld}
      controls={<ViewLink stem="speed_of_light">Roofline</ViewLink>}
    >
      {isLit ? (
        <LightBar parts={data.parts.map((part) => ({ ...part, ns: part.ns / steps }))} />
      ) : (
        <Paragraph className="prose" text={data.headline} />
      )}
      {data.ranking.length === 0 ? null : (
        <p className="prose">
          Most waste:{" "}
          {data.ranking.map(({ name, ns }, place) => (
            <span key={name}>
              {place === 0 ? "" : ", "}
              <ViewLink stem="speed_of_light">
                <CodeName name={name} />
              </ViewLink>{" "}
              {time(ns / steps)}
            </span>
          ))}
        </p>
      )}
    </Panel>
  );
}
