/** The longer parts of the details: launch, inputs, stack, arguments. */
import { useState } from "react";
import type { LaunchDelay, SliceArg, SliceDetails, SliceOrigin } from "../../../api/types.gen";
import { DASH, plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { SourceLink } from "../../../components/controls/source_link";
import { ViewLink } from "../../../components/controls/view_link";
import { Heading } from "../../../components/data_table/heading";
import { CodeName } from "../../../components/text/code_name";
import { Paragraph } from "../../../components/text/prose";

/** Call, queue and run as they follow each other; the bar has their proportions. */
export function LaunchBar({ launch }: { launch: LaunchDelay }) {
  const { launch_ns, queued_ns, run_ns } = launch;
  const isEarly = queued_ns < 0;
  return (
    <section>
      <h3>Launch to kernel</h3>
      <div className="tl-launch" aria-hidden="true">
        <i className="k runtime" style={{ flexGrow: launch_ns }} />
        {isEarly ? null : <i className="k runtime ghost" style={{ flexGrow: queued_ns }} />}
        <i className="k compute" style={{ flexGrow: run_ns }} />
      </div>
      <p className="tl-launch-words">
        <span>launch {time(launch_ns)}</span>
        {isEarly ? (
          <span>begins {time(-queued_ns)} before the call returns</span>
        ) : (
          <span>
            queued <b className="strong">{time(queued_ns)}</b>
          </span>
        )}
        <span>runs {time(run_ns)}</span>
      </p>
    </section>
  );
}

/** The operator of work in a replayed graph, and the recording that tells it. */
export function Origin({ origin }: { origin: SliceOrigin }) {
  const { op, shapes, module, run, worker } = origin;
  return (
    <section>
      <h3>Operator, from the capture-time recording</h3>
      <p className="tl-launch-words">
        <CodeName name={op} />
        {shapes === "" ? null : <span className="mono">{harmless(shapes, 200)}</span>}
        {module === "" ? null : <span>{harmless(module, 200)}</span>}
        <ViewLink stem="overview" params={{ run, worker, steps: "" }}>
          {harmless(`${run}/${worker}`, 120)}
        </ViewLink>
      </p>
    </section>
  );
}

/** `[10, 3, 224, 224]` as `10×3×224×224`; what has no shape is a dash. */
export function shapeText(shape: string): string {
  const sizes = /^\[(\d+(?:, *\d+)*)\]$/.exec(shape)?.[1];
  if (sizes !== undefined) {
    return sizes.replaceAll(/, */g, "×");
  }
  return shape === "" || shape === "[]" ? DASH : harmless(shape, 200);
}

export function Inputs({ inputs }: { inputs: SliceDetails["inputs"] }) {
  if (inputs.length === 0) {
    return null;
  }
  return (
    <section>
      <h3>Inputs</h3>
      <table className="plain tl-inputs">
        <thead>
          <tr>
            <Heading help="The place of the input in the call, from 0." className="num">
              #
            </Heading>
            <Heading help="Its sizes; an en dash: it has none, or they were not recorded.">
              Shape
            </Heading>
            <Heading help="The type of its elements, or its own.">Type</Heading>
          </tr>
        </thead>
        <tbody>
          {inputs.map(([shape, dtype], place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: inputs have no other name
            <tr key={place}>
              <td className="dim num">{place}</td>
              <td className="mono">{shapeText(shape)}</td>
              <td className="dim">{harmless(dtype, 60).replace("c10::", "")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const FRAMES = 6;

/** The part of a path that tells: without the folder of the environment, or its last three parts. */
export function shortFile(file: string): string {
  const inside =
    /(?:(?:site|dist)-packages|lib\/python3\.\d+(?!\/(?:site|dist)-packages))\/(.+)$/.exec(
      file,
    )?.[1];
  if (inside !== undefined) {
    return inside;
  }
  const parts = file.split("/");
  return parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : file;
}

/** As Python writes a frame: the place, then what was called. */
function placed({ file, line, name }: { file: string; line: number; name: string }): string {
  const called = name.replace(/^.*\(\d+\): /s, "");
  return `${shortFile(file)}(${line}): ${called}`;
}

export function Stack({ details }: { details: SliceDetails }) {
  const [isOpen, setOpen] = useState(false);
  const { stack, stack_missing, source_file, source_line, slice } = details;
  const own =
    source_file === "" ? [] : [{ name: slice.name, file: source_file, line: source_line }];
  if (stack.length === 0 && own.length === 0) {
    return stack_missing === "" ? null : (
      <section>
        <h3>Stack</h3>
        <Paragraph className="ink2" text={stack_missing} />
      </section>
    );
  }
  const frames = [...own, ...stack];
  const shown = isOpen ? frames : frames.slice(0, FRAMES);
  return (
    <section>
      <h3>Stack</h3>
      <ol className="tl-stack">
        {shown.map((frame, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a recursion repeats its frames
          <li key={place} className="clip">
            <SourceLink
              name={frame.file === "" ? frame.name : placed(frame)}
              file={frame.file}
              line={frame.line}
            />
          </li>
        ))}
      </ol>
      <Paragraph className="hint" text={stack_missing} />
      {frames.length > FRAMES ? (
        <button type="button" className="link" onClick={() => setOpen(!isOpen)}>
          {isOpen ? "fewer" : `+ ${plural(frames.length - FRAMES, "frame")}`}
        </button>
      ) : null}
    </section>
  );
}

const ARG_SHOWN = 240;

function ArgValue({ arg }: { arg: SliceArg }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = arg.text.length > ARG_SHOWN;
  return (
    <>
      <bdi>{harmless(arg.text, isOpen ? 100_000 : ARG_SHOWN)}</bdi>
      {arg.cut ? <span className="dim"> (cut: the file holds more)</span> : null}
      {isLong ? (
        <button type="button" className="link" onClick={() => setOpen(!isOpen)}>
          {isOpen ? " less" : " all of it"}
        </button>
      ) : null}
    </>
  );
}

export function Arguments({ args, missing }: { args: readonly SliceArg[]; missing: string }) {
  return (
    <section>
      <h3>Arguments</h3>
      {args.length === 0 ? (
        <Paragraph className="ink2" text={missing || "None were recorded."} />
      ) : (
        <dl className="tl-args">
          {args.map((arg) => (
            <div key={arg.key}>
              <dt>{harmless(arg.key, 60)}</dt>
              <dd className="mono">
                <ArgValue arg={arg} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
