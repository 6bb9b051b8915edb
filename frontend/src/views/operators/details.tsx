/** What a row consists of: shapes, stacks, kernels, slowest calls, each a door to the events. */

import type { GroupBy, OperatorQuery, OperatorRow, Operators, StackRow } from "../../api/types.gen";
import { count, DASH, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { EditorChoice } from "../../components/controls/editor_choice";
import { SourceLink } from "../../components/controls/source_link";
import { ViewLink } from "../../components/controls/view_link";
import { Heading } from "../../components/data_table/heading";
import { Answered } from "../../components/states/answered";
import { FirstCalls, FirstFew } from "../../components/states/first_few";
import { SlowCalls } from "../../components/states/slow_calls";
import { CodeName } from "../../components/text/code_name";
import { Paragraph } from "../../components/text/prose";
import { useAsked, usePart } from "../../state/parts";

interface DetailsProps {
  readonly row: OperatorRow;
  readonly query: OperatorQuery;
  readonly answer: Operators;
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

function Stack({ stack }: { stack: StackRow }) {
  const own = stack.frames.find((frame) => frame.file !== "" && !/(^|\/)torch\//.test(frame.file));
  const first = own ?? stack.frames[0];
  return (
    <details>
      <summary className="clip">
        {first === undefined ? DASH : <CodeName name={first.name} />}
      </summary>
      <FirstFew items={stack.frames}>
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

export function Details({ row, query, answer }: DetailsProps) {
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
              <FirstFew items={data.shapes} total={data.shapes_count} beyond={allIn("shape")}>
                {(shown) => (
                  <table className="plain">
                    <thead>
                      <tr>
                        <Heading help="Shapes and types of the inputs.">inputs</Heading>
                        <Heading help="Calls with these inputs." className="num">
                          Calls
                        </Heading>
                        {hasDevice ? (
                          <Heading help="Device time that they launched." className="num">
                            Device
                          </Heading>
                        ) : null}
                        <Heading help="Mean length of such a call on the host." className="num">
                          Mean
                        </Heading>
                      </tr>
                    </thead>
                    <tbody>
                      {shown.map((one) => (
                        <tr key={one.key}>
                          <td className="name clip" title={harmless(one.detail, 1500)}>
                            {shapeWords(one.detail)}
                          </td>
                          <td className="num">{count(one.calls)}</td>
                          {hasDevice ? (
                            <td className="num">{time(one.device_total_ns ?? 0)}</td>
                          ) : null}
                          <td className="num">{time(one.mean_ns)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                )}
              </FirstFew>
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
                <FirstCalls
                  items={data.stacks}
                  total={data.stacks_count}
                  beyond={allIn("stack")}
                  head={
                    <>
                      <Heading help="The innermost call of your code; the whole stack opens in place.">
                        innermost of your code
                      </Heading>
                      <Heading help="Calls from there." className="num">
                        Calls
                      </Heading>
                      {hasDevice ? (
                        <Heading help="Device time that they launched." className="num">
                          Device
                        </Heading>
                      ) : (
                        <Heading help="Their time on the host." className="num">
                          Host
                        </Heading>
                      )}
                    </>
                  }
                  lineOf={(one) => ({
                    key: one.row.key,
                    name: <Stack stack={one} />,
                    calls: one.row.calls,
                    ns: hasDevice ? (one.row.device_total_ns ?? 0) : one.row.total_ns,
                  })}
                />
                <EditorChoice />
              </>
            ) : (
              <Paragraph className="dim" text={data.stacks_missing} />
            )}
          </section>
          {hasDevice ? (
            <section aria-label="Kernels">
              <h3>
                Kernels <span className="dim">{count(data.kernels_count)}</span>
              </h3>
              {data.kernels.length > 0 ? (
                <FirstCalls
                  items={data.kernels}
                  total={data.kernels_count}
                  beyond={allKernels}
                  lineOf={(one) => ({
                    key: one.name,
                    name: (
                      <ViewLink stem="timeline" params={{ select: String(one.longest) }}>
                        <CodeName name={one.name} />
                      </ViewLink>
                    ),
                    calls: one.calls,
                    ns: one.total_ns,
                  })}
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
