/** What a row consists of: shapes, stacks, kernels, slowest calls, each a door to the events. */

import type {
  GroupBy,
  OperatorDetails,
  OperatorQuery,
  OperatorRow,
  Operators,
  StackRow,
} from "../../api/types.gen";
import { count, DASH, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { EditorChoice } from "../../components/controls/editor_choice";
import { SourceLink } from "../../components/controls/source_link";
import { ViewLink } from "../../components/controls/view_link";
import { figure } from "../../components/data_table/declared";
import type { PerStep } from "../../components/data_table/per_step";
import { Answered } from "../../components/states/answered";
import { type Figure, FirstFew, FirstRows } from "../../components/states/first_few";
import { SlowCalls } from "../../components/states/slow_calls";
import { CodeName } from "../../components/text/code_name";
import { Paragraph } from "../../components/text/prose";
import { useAsked, usePart } from "../../state/parts";

interface DetailsProps {
  readonly row: OperatorRow;
  readonly query: OperatorQuery;
  readonly answer: Operators;
  readonly perStep: PerStep;
}

/** What is known of a compiled region or a fused kernel. */
function CompiledFacts({ facts }: { readonly facts: OperatorDetails["compiled"] }) {
  return facts.length === 0 ? null : (
    <section aria-label="Compiled">
      <h3>Compiled</h3>
      {facts.map(([label, text]) => (
        <p key={label} className="prose">
          <span className="dim">{label}</span> {harmless(text)}
        </p>
      ))}
    </section>
  );
}

/** `[[32,256,14,14],[],[]]` → `32×256×14×14`; what has no sizes is left out. */
export function shapeWords(text: string): string {
  try {
    const dims: unknown = JSON.parse(text);
    if (!Array.isArray(dims)) {
      return harmless(text);
    }
    const words = dims.map((one) =>
      Array.isArray(one) && one.length > 0 && one.every((size) => typeof size === "number")
        ? one.join("×")
        : Array.isArray(one) && one.length > 0
          ? JSON.stringify(one)
          : "",
    );
    return words.filter(Boolean).join("  ") || "no tensors";
  } catch {
    return harmless(text);
  }
}

/** Figures that several of the lists have. */
const figuresOf = ({ steps, words }: PerStep) => ({
  callsOf: (help: string): Figure<{ readonly calls: number }> => ({
    head: `Calls${words}`,
    help,
    words: ({ calls }) => figure(calls / steps, ""),
  }),
  device: {
    head: `Device${words}`,
    help: "Device time that they launched.",
    words: ({ device_total_ns }) => time((device_total_ns ?? 0) / steps),
  } satisfies Figure<OperatorRow>,
  host: {
    head: `Host${words}`,
    help: "Their time on the host.",
    words: ({ total_ns }) => time(total_ns / steps),
  } satisfies Figure<OperatorRow>,
});

function Stack({ frames }: Pick<StackRow, "frames">) {
  const own = frames.find((frame) => frame.file !== "" && !/(^|\/)torch\//.test(frame.file));
  const first = own ?? frames[0];
  return (
    <details>
      <summary className="clip">
        {first === undefined ? DASH : <CodeName name={first.name} />}
      </summary>
      <FirstFew items={frames}>
        {(shown) => (
          <ol className="frames">
            {shown.map((frame, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a recursion has equal frames
              <li key={place} className="clip">
                <SourceLink name={frame.name} file={frame.file} line={frame.line} />
              </li>
            ))}
          </ol>
        )}
      </FirstFew>
    </details>
  );
}

export function Details({ row, query, answer, perStep }: DetailsProps) {
  const { callsOf, device, host } = figuresOf(perStep);
  const { steps, group_by, stack_depth } = query;
  const state = usePart("operators/row", useAsked(), {
    key: row.key,
    steps: steps ?? "",
    group_by: group_by ?? "name",
    ...(stack_depth === undefined ? {} : { stack_depth }),
  });
  const hasDevice = answer.device_ns !== null;
  const allIn = (group: GroupBy) => (
    <ViewLink stem="operators" params={{ search: row.name, group, row: "" }}>
      all of this operator, as rows of the table
    </ViewLink>
  );
  const allKernels = (
    <ViewLink stem="kernels" params={{ op: row.name, search: "", group: "" }}>
      all of this operator in the Kernel view
    </ViewLink>
  );
  return (
    <Answered state={state}>
      {(data) => (
        <div className="op-details">
          <section aria-label="Input shapes">
            <h3>
              Input shapes <span className="dim">{count(data.shapes_count)}</span>
            </h3>
            {data.shapes_missing === "" ? (
              <FirstRows
                items={data.shapes}
                total={data.shapes_count}
                beyond={allIn("shape")}
                head="Inputs"
                help="Shapes and types of the inputs."
                keyOf={(one) => one.key}
                nameOf={(one) => shapeWords(one.detail)}
                titleOf={(one) => harmless(one.detail, 1500)}
                figures={[
                  callsOf("Calls with these inputs."),
                  ...(hasDevice ? [device] : []),
                  {
                    head: "Mean",
                    help: "Mean length of such a call on the host.",
                    words: (one) => time(one.mean_ns),
                  },
                ]}
              />
            ) : (
              <Paragraph className="dim" text={data.shapes_missing} />
            )}
          </section>
          <section aria-label="Call stacks">
            <h3>
              Call stacks <span className="dim">{count(data.stacks_count)}</span>
            </h3>
            {data.stacks.length > 0 ? (
              <>
                <FirstRows
                  items={data.stacks.map(({ row: called, frames }) => ({ ...called, frames }))}
                  total={data.stacks_count}
                  beyond={allIn("stack")}
                  head="Innermost of your code"
                  help="The innermost call of your code; the whole stack opens in place."
                  keyOf={(one) => one.key}
                  nameOf={(one) => <Stack frames={one.frames} />}
                  figures={[callsOf("Calls from there."), hasDevice ? device : host]}
                />
                <EditorChoice />
              </>
            ) : (
              <Paragraph className="dim" text={data.stacks_missing} />
            )}
          </section>
          <CompiledFacts facts={data.compiled} />
          {hasDevice ? (
            <section aria-label="Kernels">
              <h3>
                Kernels <span className="dim">{count(data.kernels_count)}</span>
              </h3>
              {data.kernels.length > 0 ? (
                <FirstRows
                  items={data.kernels}
                  total={data.kernels_count}
                  beyond={allKernels}
                  head="Kernel"
                  help="A kernel, copy or set that this operator launched; leads to its longest in Trace."
                  keyOf={(one) => one.name}
                  nameOf={(one) => (
                    <ViewLink stem="timeline" params={{ select: String(one.longest) }}>
                      <CodeName name={one.name} short={one.short || one.name} />
                    </ViewLink>
                  )}
                  figures={[
                    callsOf("Number of launches by the operator."),
                    {
                      head: device.head,
                      help: "Sum of its durations on the device.",
                      words: (one) => time(one.total_ns / perStep.steps),
                    },
                  ]}
                />
              ) : (
                <Paragraph className="dim" text={data.kernels_missing} />
              )}
            </section>
          ) : null}
          <SlowCalls
            title="Slowest calls"
            name={row.name}
            calls={data.slowest}
            total={data.row.calls}
          />
        </div>
      )}
    </Answered>
  );
}
