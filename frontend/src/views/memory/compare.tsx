/** Two memory snapshots: which code holds more than in the other, and both curves over the steps. */
import { useCallback } from "react";
import type { Catalog, CompareCurve, MemoryComparison } from "../../api/types.gen";
import { documentTokens } from "../../base/style/kind_hues";
import { bytes, count, DASH, MINUS, time } from "../../base/text/format";
import { LiveCanvas } from "../../components/charts/live_canvas";
import { Select } from "../../components/controls/select";
import { DeclaredTable } from "../../components/data_table/declared";
import { Answered } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { useThemeName, useValues } from "../../state/host/environment";
import { isSnapshot, usePage } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import type { useChoice } from "./choice";
import { Line } from "./line";

const HEIGHT = 150;
const AXIS = 20;
const FONT = "11px system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

interface Other {
  readonly name: string;
  readonly run: string;
  readonly worker: string;
  readonly span: string;
  readonly digest: string;
}

/** The other snapshots below the logdirs, by the names that the address has for them. */
export function otherSnapshots(
  { runs }: Pick<Catalog, "runs">,
  shown: { run: string; worker: string; span: string } | undefined,
): Other[] {
  return runs.flatMap((run) =>
    run.workers.flatMap((worker) =>
      worker.spans
        .filter(({ file, error }) => isSnapshot(file) && error === null)
        .filter(
          ({ key }) =>
            run.name !== shown?.run || worker.name !== shown.worker || key !== shown.span,
        )
        .map(({ key, digest }) => ({
          name: [run.name, worker.name, ...(key === "default" ? [] : [key])].join(" / "),
          run: run.name,
          worker: worker.name,
          span: key,
          digest,
        })),
    ),
  );
}

const signed = (value: number) =>
  value === 0 ? bytes(0) : `${value < 0 ? MINUS : "+"}${bytes(Math.abs(value))}`;

const life = (ns: number | null) => (ns === null ? DASH : time(ns));

function Sites({ columns, sites }: Pick<MemoryComparison, "columns" | "sites">) {
  return (
    <div className="mem-changes">
      <DeclaredTable
        label="the sites"
        heads={columns}
        rows={sites}
        most={12}
        keyOf={({ change, site }) => `${change} ${site}`}
        cells={{
          site: ({ frames }) =>
            frames[0] === undefined ? (
              <span className="dim">without a stack</span>
            ) : (
              <span title={frames.join("\n")}>
                <Line text={frames[0]} />
              </span>
            ),
          difference_bytes: (site) => signed(site.difference_bytes),
          after_blocks: (site) => `${count(site.before_blocks)} → ${count(site.after_blocks)}`,
          after_lifetime_ns: (site) =>
            `${life(site.before_lifetime_ns)} → ${life(site.after_lifetime_ns)}`,
        }}
      />
    </div>
  );
}

function paintLine(
  context: CanvasRenderingContext2D,
  { at, bytes: values }: CompareCurve,
  x: (step: number) => number,
  y: (value: number) => number,
) {
  context.beginPath();
  for (const [place, step] of at.entries()) {
    const last = y(values[Math.max(0, place - 1)] ?? 0);
    if (place === 0) {
      context.moveTo(x(step), y(values[0] ?? 0));
    } else {
      context.lineTo(x(step), last);
      context.lineTo(x(step), y(values[place] ?? 0));
    }
  }
  context.stroke();
}

/** Both curves, each step as wide as any other. */
function Overlay({ before, after }: Pick<MemoryComparison, "before" | "after">) {
  const theme = useThemeName();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) => {
      const steps = Math.max(1, before.steps, after.steps);
      const top = Math.max(1, ...before.bytes, ...after.bytes);
      const bottom = height - AXIS;
      const x = (step: number) => (step / steps) * width;
      const y = (value: number) => bottom - (value / top) * (bottom - 14);
      context.font = FONT;
      context.strokeStyle = documentTokens("--line");
      context.fillStyle = documentTokens("--ink-3");
      for (let step = 0; step < steps; step += Math.max(1, Math.ceil(steps / 12))) {
        context.beginPath();
        context.moveTo(x(step), 0);
        context.lineTo(x(step), bottom);
        context.stroke();
        context.fillText(
          steps === 1 ? "whole history" : `step ${step + 1}`,
          x(step) + 3,
          height - 6,
        );
      }
      context.fillText(bytes(top), 3, 10);
      context.lineWidth = 1.5;
      context.strokeStyle = documentTokens("--ink-3");
      paintLine(context, before, x, y);
      context.strokeStyle = documentTokens("--accent");
      paintLine(context, after, x, y);
    },
    [before, after, theme],
  );
  return (
    <>
      <div className="mem-compare">
        <LiveCanvas
          role="img"
          aria-label="Allocated memory of both snapshots, step over step"
          cells={[]}
          paint={paint}
          style={{ width: "100%", height: HEIGHT }}
        />
      </div>
      <ul className="legend">
        <li>
          <span className="entry">
            <i className="swatch" style={{ background: "var(--ink-3)" }} /> the other
          </span>
        </li>
        <li>
          <span className="entry">
            <i className="swatch" style={{ background: "var(--accent)" }} /> this one
          </span>
        </li>
      </ul>
    </>
  );
}

interface ComparePanelProps {
  readonly device: string;
  readonly isOld: boolean;
  readonly choice: ReturnType<typeof useChoice>;
}

export function ComparePanel({ device, isOld, choice }: ComparePanelProps) {
  const { catalog, shown } = usePage();
  const name = useValues()["memory.other"] ?? "";
  const others = otherSnapshots(catalog, shown?.trace ?? undefined);
  const other = others.find((one) => one.name === name);
  const state = usePart(
    "memory/compare",
    useAsked(),
    other === undefined
      ? null
      : {
          device,
          other_run: other.run,
          other_worker: other.worker,
          other_span: other.span,
          other_digest: other.digest,
        },
  );
  return (
    <Panel title="Compared with another snapshot" isOld={isOld || state.isOld}>
      {others.length === 0 ? (
        <p className="ink2">There is no other memory snapshot below the logdirs.</p>
      ) : (
        <p className="row wrap">
          <Select
            label="The other snapshot"
            options={[
              ["", "Choose a snapshot"] as const,
              ...others.map((one) => [one.name, one.name] as const),
            ]}
            value={other === undefined ? "" : name}
            onChange={(next) => choice.set("other", next)}
          />
        </p>
      )}
      {other === undefined ? null : (
        <Answered state={state}>
          {(found) => (
            <>
              <p>
                <Prose text={found.sentence} />
              </p>
              <Overlay before={found.before} after={found.after} />
              <Sites columns={found.columns} sites={found.sites} />
              <p className="hint">
                At the peak of each, by the innermost three frames of your own code. The differences
                sum to that of the peaks.
              </p>
            </>
          )}
        </Answered>
      )}
    </Panel>
  );
}
