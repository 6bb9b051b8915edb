/** One block: its ends, the ops around them, its line, and why it is in its category. */
import type { BlockDetails } from "../../../api/types.gen";
import { bytes, exactTime, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CopyButton } from "../../../components/controls/copy_button";
import { ViewLink } from "../../../components/controls/view_link";
import { Answered } from "../../../components/states/answered";
import { FirstFew } from "../../../components/states/first_few";
import { CodeName } from "../../../components/text/code_name";
import { Prose } from "../../../components/text/prose";
import { useAsked, usePart } from "../../../state/parts";
import { Line, moduleName } from "../line";

interface EndProps {
  readonly title: string;
  readonly ts: number | null;
  readonly unknown: string;
  readonly ops: readonly string[];
  readonly slice: number | null;
}

/** Where a block came from, or where it went: the ops around it, innermost first. */
function End({ title, ts, unknown, ops, slice }: EndProps) {
  const inner = ops.map((name, depth) => ({ name, depth })).reverse();
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="dim">{ts === null ? unknown : time(ts)}</span>
      </h3>
      {inner.length === 0 ? (
        <p className="dim">{ts === null ? "" : "Outside of all ops."}</p>
      ) : (
        <FirstFew items={inner} most={5}>
          {(shown) => (
            <ol>
              {shown.map(({ name, depth }) => (
                <li key={depth} className="clip">
                  <CodeName name={name} />
                </li>
              ))}
            </ol>
          )}
        </FirstFew>
      )}
      {slice === null ? null : (
        <p>
          <ViewLink stem="timeline" params={{ select: String(slice) }}>
            The op in the trace
          </ViewLink>
        </p>
      )}
    </section>
  );
}

function Facts({ block }: { block: BlockDetails }) {
  return (
    <div className="op-details mem-block">
      <End
        title="Allocated"
        ts={block.life_start_ns}
        unknown="before the recording"
        ops={block.ops}
        slice={block.slice}
      />
      <End
        title="Released"
        ts={block.life_end_ns}
        unknown="after the recording, if at all"
        ops={block.release_ops}
        slice={block.release_slice}
      />
      <section aria-label="What it holds">
        <h3>{block.label}</h3>
        <p className="ink2">
          <Prose text={block.why} /> Confidence: {block.confidence}.
        </p>
        {block.module === "" ? null : (
          <p className="clip">Module {harmless(moduleName(block.module))}</p>
        )}
        {block.line === "" ? null : (
          <p className="clip">
            <Line text={block.line} />
          </p>
        )}
      </section>
      <section aria-label="The block">
        <h3>Block</h3>
        <p>
          {bytes(block.bytes)} at <code>{block.address}</code>
        </p>
        {block.step === "" ? null : <p>in {harmless(block.step)}</p>}
        {block.life_start_ns === null || block.life_end_ns === null ? null : (
          <p>alive {exactTime(block.life_end_ns - block.life_start_ns)}</p>
        )}
        <CopyButton className="small" text={() => JSON.stringify(block)}>
          Copy as JSON
        </CopyButton>
      </section>
    </div>
  );
}

export function Block({ block }: { block: number }) {
  return (
    <Answered state={usePart("memory/block", useAsked(), { block })}>
      {(data) => <Facts block={data} />}
    </Answered>
  );
}
