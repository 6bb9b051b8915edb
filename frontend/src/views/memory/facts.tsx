/** The second peak, what would lower the first, growth from step to step, churn, head-room. */
import type {
  LeakSite,
  Memory,
  MemoryDeviceRow,
  StepMemoryRow,
  StepsMemory,
} from "../../api/types.gen";
import { bytes, count, DASH, plural, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import { DeclaredTable } from "../../components/data_table/declared";
import { Answered } from "../../components/states/answered";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { Prose } from "../../components/text/prose";
import { useAsked, usePart } from "../../state/parts";
import { scopeOf, type useChoice } from "./choice";
import { layerToken } from "./colors";
import { Line, moduleName } from "./line";

interface FactProps {
  readonly answer: Memory;
  readonly isOld: boolean;
  readonly choice: ReturnType<typeof useChoice>;
}

const Mark = ({ category }: { category: string }) => (
  <i className="swatch" style={{ background: `var(${layerToken(category, 0)})` }} />
);

/** What would be the peak if the first were lowered, and what each category gives at most. */
export function SecondPeak({ answer, isOld, choice, noBlocks }: FactProps & { noBlocks: string }) {
  const { second, without, without_columns, peak } = answer;
  return (
    <Panel title="Second peak" isOld={isOld}>
      {second === null ? (
        <p className="ink2">The curve of this step has one peak only.</p>
      ) : (
        <p>
          <b>{bytes(second.bytes)}</b> at {time(second.ts)}
          {second.step === "" ? "" : ` in ${harmless(second.step)}`}
          {peak.bytes > 0 ? `, ${share(second.bytes / peak.bytes)} of the first` : ""}
          {". "}
          {noBlocks === "" ? (
            <button type="button" className="link" onClick={() => choice.setAlive("second")}>
              What is alive then
            </button>
          ) : null}
        </p>
      )}
      <h3>The peak without …</h3>
      {without.length === 0 ? (
        <p className="ink2">
          {noBlocks === "" ? (
            "No category lowers the peak."
          ) : (
            <>
              Not available. <Prose text={noBlocks} />
            </>
          )}
        </p>
      ) : (
        <DeclaredTable
          label="the peak without a category"
          heads={without_columns}
          rows={without}
          most={4}
          keyOf={({ category }) => category}
          cells={{
            label: ({ category, label }) => (
              <>
                <Mark category={category} /> {label}
              </>
            ),
          }}
        />
      )}
    </Panel>
  );
}

function Sites({ sites, causes }: Pick<StepsMemory, "sites" | "causes">) {
  return (
    <>
      <h3>Allocated in step after step, and never released</h3>
      {sites.length === 0 ? (
        <p className="ink2">No site stands out: the blocks that stay differ from step to step.</p>
      ) : (
        <FirstFew items={sites} most={5}>
          {(shown: readonly LeakSite[]) => (
            <ul className="mem-sites">
              {shown.map((site) => (
                <li key={site.block}>
                  <b>{bytes(site.bytes * site.count)}</b>: {count(site.count)} × {bytes(site.bytes)}{" "}
                  in {plural(site.steps, "step")}
                  {", "}
                  {site.slice === null ? (
                    <CodeName name={site.name} />
                  ) : (
                    <ViewLink stem="timeline" params={{ select: String(site.slice) }}>
                      <CodeName name={site.name} />
                    </ViewLink>
                  )}
                  {site.module === "" ? "" : ` in ${harmless(moduleName(site.module), 80)}`}
                  {site.line === "" ? null : (
                    <>
                      {", "}
                      <Line text={site.line} />
                    </>
                  )}
                </li>
              ))}
            </ul>
          )}
        </FirstFew>
      )}
      {causes.length === 0 ? null : (
        <>
          <h3>Usual causes</h3>
          <ul className="mem-sites ink2">
            {causes.map((cause) => (
              <li key={cause}>
                <Prose text={cause} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

interface StepNumberProps {
  readonly row: StepMemoryRow;
  /** Chooses the step as the range; null where it has no place. */
  readonly choose: (() => void) | null;
}

function StepNumber({ row, choose }: StepNumberProps) {
  return (
    <span
      className={row.counts ? "" : "dim"}
      title={row.counts ? "" : "Warm-up, or not finished: not counted."}
    >
      {choose === null ? (
        row.number
      ) : (
        <button type="button" className="link" onClick={choose}>
          {row.number}
        </button>
      )}
      {row.counts ? "" : " *"}
    </span>
  );
}

function StepLines({ data, answer, choice }: { data: StepsMemory } & FactProps) {
  const marks = new Map(answer.steps.map((mark) => [mark.name, mark]));
  const chooserOf = ({ name }: StepMemoryRow) => {
    const mark = marks.get(name);
    return mark === undefined
      ? null
      : () => choice.setRange({ start: mark.start_ns, end: mark.end_ns });
  };
  return (
    <>
      <DeclaredTable
        label="the steps"
        heads={data.columns}
        rows={data.rows}
        most={6}
        keyOf={({ name }) => name}
        cells={{ number: (row) => <StepNumber row={row} choose={chooserOf(row)} /> }}
      />
      {data.rows.some(({ counts }) => !counts) ? (
        <p className="hint">* warm-up, or not finished: not counted</p>
      ) : null}
    </>
  );
}

/** The test for a leak, and the steps it looked at. */
export function FromStepToStep(props: FactProps) {
  const { answer, isOld } = props;
  const state = usePart("memory/steps", useAsked(), scopeOf(answer, null), true);
  return (
    <Panel title="From step to step" isOld={isOld || state.isOld}>
      <p>
        <Prose text={answer.growth.sentence} />
      </p>
      <Answered state={state}>
        {(data) => (
          <>
            {data.growth.verdict === "leak" ? (
              <Sites sites={data.sites} causes={data.causes} />
            ) : null}
            {data.rows.length === 0 ? null : <StepLines data={data} {...props} />}
          </>
        )}
      </Answered>
    </Panel>
  );
}

/** Allocations of a usual step, and the calls that asked the device. */
export function Churn({ answer, isOld, choice }: FactProps) {
  const { churn } = answer;
  return (
    <Panel title="Allocator churn" isOld={isOld}>
      <p>
        <Prose text={churn.sentence} />
      </p>
      <p className="row wrap">
        {(answer.missing["blocks"] ?? "") === "" ? (
          <button type="button" className="link" onClick={() => choice.set("tab", "operators")}>
            {answer.is_snapshot ? "Which lines allocate" : "Which ops allocate"}
          </button>
        ) : null}
        {churn.device_calls === 0 ? null : (
          <ViewLink stem="operators" params={{ kinds: "runtime", search: "malloc" }}>
            The calls to the device
          </ViewLink>
        )}
      </p>
    </Panel>
  );
}

/** What is left on the device. */
export function HeadRoomPanel({
  answer,
  isOld,
  device,
}: Omit<FactProps, "choice"> & { device: MemoryDeviceRow }) {
  const room = answer.head_room;
  if (room === null) {
    const why = device.missing["capacity"] ?? device.missing["reserved"] ?? "";
    return (
      <Panel title="Head-room" isOld={isOld}>
        <p className="ink2">
          {why === "" ? (
            `Not available for ${device.label}: only a device has memory of its own.`
          ) : (
            <>
              Not available. <Prose text={why} />
            </>
          )}
        </p>
        {device.capacity_bytes === null ? null : (
          <p>The device has {bytes(device.capacity_bytes)}.</p>
        )}
      </Panel>
    );
  }
  return (
    <Panel title="Head-room" isOld={isOld}>
      <p>
        <b>{bytes(room.free_bytes)}</b> left, {share(room.ratio)} of {bytes(room.capacity_bytes)}{" "}
        reserved at most
      </p>
      <div className="bar" aria-hidden="true">
        <i style={{ width: `${Math.min(1, room.ratio) * 100}%` }} />
      </div>
      <p className="ink2">
        <Prose text={room.sentence} />
      </p>
      <p className="hint">
        Allocated at the peak: {device.peak_bytes === null ? DASH : bytes(device.peak_bytes)}
      </p>
    </Panel>
  );
}
