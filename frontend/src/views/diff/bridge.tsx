/** The bridge from the step of A to the step of B: a waterfall that adds up, each part a door. */
import type { Diff, DiffPart } from "../../api/types.gen";
import { useWidth } from "../../base/measure";
import { axisNumber, change, fixed, inScale, NBSP, time, timeScale } from "../../base/text/format";
import { roundTicks } from "../../base/text/ticks";
import { fillClass } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink } from "../../components/controls/view_link";
import { declaredToPlain } from "../../components/data_table/declared";
import { Panel } from "../../components/states/panel";
import { useAddress, useValues } from "../../state/host/environment";

const HEIGHT = 236;
const TOP = 22;
const LEAST_COLUMN = 84;
const AMOUNT = 18;
const DIVISIONS = { device: "GPU", host: "Main thread", classic: "Categories" } as const;

/** Where a bar of the waterfall begins and ends, in ns from zero. */
export interface Bar {
  readonly part: DiffPart;
  readonly from: number;
  readonly to: number;
}

/** The changes one after the other, from the step of A to that of B. */
export function waterfall(parts: readonly DiffPart[], base: number): readonly Bar[] {
  let at = base;
  return parts.map((part) => {
    const from = at;
    at += part.change_ns;
    return { part, from, to: at };
  });
}

/** Small changes as one, so that the large ones have room; the sum stays. */
export function fitting(parts: readonly DiffPart[], most: number): readonly DiffPart[] {
  if (parts.length <= most) {
    return parts;
  }
  const ordered = [...parts].sort((a, b) => Math.abs(b.change_ns) - Math.abs(a.change_ns));
  const kept = new Set(ordered.slice(0, Math.max(1, most - 1)));
  const rest = parts.filter((part) => !kept.has(part));
  const sum = (of: (part: DiffPart) => number) => rest.reduce((total, part) => total + of(part), 0);
  const together: DiffPart = {
    key: "rest",
    label: `${rest.length} smaller parts`,
    category: "other",
    ghost: true,
    help: rest.map(({ label, change_ns }) => `${label} ${change(change_ns)}`).join("\n"),
    base_ns: sum((part) => part.base_ns),
    other_ns: sum((part) => part.other_ns),
    change_ns: sum((part) => part.change_ns),
    is_real: null,
    door: { base_at: "", other_at: "", find: "" },
  };
  return [...parts.filter((part) => kept.has(part)), together];
}

function Stack({
  parts,
  side,
  y,
}: {
  parts: readonly DiffPart[];
  side: "base_ns" | "other_ns";
  y: (ns: number) => number;
}) {
  // What a faster clock saves is less than nothing: it is taken off the work, which comes first.
  let at = parts.reduce((sum, part) => sum + Math.min(0, part[side]), 0);
  return parts.map((part) => {
    const from = Math.max(0, at);
    at += Math.max(0, part[side]);
    const height = y(from) - y(Math.max(0, at));
    return part[side] > 0 && at > 0 ? (
      <i
        key={part.key}
        className={fillClass(part.category, part.ghost)}
        title={`${part.label}: ${time(part[side])}\n${part.help}`}
        style={{ top: y(at), height: Math.max(0.5, height - (height > 3 ? 1 : 0)) }}
      />
    ) : null;
  });
}

/** Not proven: pale. */
const signOf = (part: DiffPart) =>
  part.change_ns === 0 || Math.abs(part.change_ns) < 1
    ? "same"
    : part.change_ns < 0
      ? "better"
      : "worse";

/** From the end of a bar to where the next one begins. */
function Level({ at }: { at: number }) {
  return <span className="diff-level" style={{ top: at }} aria-hidden="true" />;
}

function Change({ bar, y }: { bar: Bar; y: (ns: number) => number }) {
  const { part, from, to } = bar;
  const [top, bottom] = [Math.min(y(from), y(to)), Math.max(y(from), y(to))];
  const sure =
    part.is_real === null ? "" : part.is_real ? ", significant" : ", not significant: pale";
  const title = `${part.label}: ${time(part.base_ns)} → ${time(part.other_ns)}, ${change(part.change_ns)}${sure}\n${part.help}`;
  const { other_at, find } = part.door;
  return (
    <>
      <Level at={y(to)} />
      <i
        className={`diff-delta ${signOf(part)} ${part.is_real === true ? "" : "pale"}`}
        style={{ top, height: Math.max(2, bottom - top) }}
        title={title}
      />
      {other_at === "" ? null : (
        <ViewLink
          stem="timeline"
          params={find === "" ? { at: other_at } : { at: other_at, find }}
          className="diff-door"
          title={`${title}\nOpens where B spends most of it, in Trace`}
        >
          <span className="unseen">{title}</span>
        </ViewLink>
      )}
      <b
        className={`diff-amount ${signOf(part)}`}
        style={{
          // Below a bar that falls, unless it falls to where the names are.
          top: part.change_ns < 0 && bottom + AMOUNT <= HEIGHT ? bottom + 2 : top - AMOUNT,
        }}
      >
        {change(part.change_ns)}
      </b>
    </>
  );
}

export function Bridge({ answer, isOld }: { answer: Diff; isOld: boolean }) {
  const address = useAddress();
  const values = useValues();
  const [box, width] = useWidth<HTMLDivElement>();
  const { base_ns, other_ns, change_ns } = answer;
  const room = Math.max(3, Math.floor((width - 40) / LEAST_COLUMN) - 2);
  const parts = fitting(
    answer.parts.filter((part) => part.change_ns !== 0),
    room,
  );
  const bars = waterfall(parts, base_ns);
  const most = Math.max(base_ns, other_ns, ...bars.map(({ to }) => to), 1);
  const scale = timeScale(most);
  const y = (ns: number) => TOP + (1 - ns / (most * 1.06)) * (HEIGHT - TOP);
  const columns = bars.length + 2;
  // Whole nanoseconds all three, so that they can be added up as they stand.
  const whole = (ns: number) => fixed(ns, 0);
  const exact = `${whole(base_ns)} ${change_ns < 0 ? "−" : "+"} ${whole(Math.abs(change_ns))} = ${whole(other_ns)}${NBSP}ns`;
  return (
    <Panel
      title="From A to B"
      hint={`median step · adds up exactly: ${exact}`}
      isOld={isOld}
      className="diff-bridge"
      controls={
        <>
          {answer.divisions.length > 1 ? (
            <Segmented
              label="Seen from"
              options={answer.divisions.map((one) => [one, DIVISIONS[one]] as const)}
              value={answer.division}
              onChange={(next) =>
                address.replace({ "diff.seen": next === answer.divisions[0] ? undefined : next })
              }
            />
          ) : null}
          {answer.can_equal_clocks ? (
            <Segmented
              label="Clocks"
              options={[
                ["recorded", "As recorded"],
                ["equal", "Equal clocks"],
              ]}
              value={values["diff.clocks"] === "equal" ? "equal" : "recorded"}
              onChange={(next) =>
                address.replace({ "diff.clocks": next === "equal" ? next : undefined })
              }
            />
          ) : null}
          <CopyTable
            label="the bridge"
            table={() => declaredToPlain<DiffPart>(answer.parts_columns)(answer.parts)}
          />
        </>
      }
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        ref={box}
        className="diff-waterfall"
        role="group"
        aria-label={`${exact}; ${answer.parts.map((part) => `${part.label} ${change(part.change_ns)}`).join(", ")}`}
      >
        <div className="diff-axis" style={{ height: HEIGHT }} aria-hidden="true">
          {roundTicks(most / scale.unit.size, 4).map((tick) => (
            <span key={tick} style={{ top: y(tick * scale.unit.size) }}>
              {axisNumber(tick)}
            </span>
          ))}
        </div>
        <div
          className="diff-columns"
          style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
        >
          <div className="diff-column">
            <div style={{ height: HEIGHT }}>
              <Level at={y(base_ns)} />
              <Stack parts={answer.parts} side="base_ns" y={y} />
              <b className="diff-amount" style={{ top: y(base_ns) - AMOUNT }}>
                {inScale(base_ns, scale)}
              </b>
            </div>
            <b>A</b>
          </div>
          {bars.map((bar) => (
            <div className="diff-column" key={bar.part.key}>
              <div style={{ height: HEIGHT }}>
                <Change bar={bar} y={y} />
              </div>
              <span title={bar.part.help}>{bar.part.label}</span>
            </div>
          ))}
          <div className="diff-column">
            <div style={{ height: HEIGHT }}>
              <Stack parts={answer.parts} side="other_ns" y={y} />
              <b className="diff-amount" style={{ top: y(other_ns) - AMOUNT }}>
                {inScale(other_ns, scale)}
              </b>
            </div>
            <b>B</b>
          </div>
        </div>
      </div>
      <p className="hint">
        {scale.unit.name} per step · pale: not significant, or too few steps to tell
      </p>
    </Panel>
  );
}
