/** What is counted per step, and what the two recordings do not have in common. */

import type { Diff, DiffCount } from "../../api/types.gen";
import { bytes, count, DASH, flops, MINUS } from "../../base/text/format";
import { Heading } from "../../components/data_table/heading";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { SideHeads } from "./figures";

function words({ unit }: DiffCount, value: number): string {
  return unit === "bytes"
    ? bytes(value)
    : unit === "flop"
      ? flops(value)
      : count(Math.round(value));
}

function difference(one: DiffCount): string {
  const delta = one.other - one.base;
  return delta === 0 ? "0" : `${delta < 0 ? MINUS : "+"}${words(one, Math.abs(delta))}`;
}

export function Counts({ answer, isOld }: { answer: Diff; isOld: boolean }) {
  return (
    <Panel
      title="Counted per step"
      hint="no statistics needed where a number repeats"
      isOld={isOld}
    >
      <table className="plain">
        <thead>
          <tr>
            <th> </th>
            <SideHeads />
            <Heading help="“exactly” where every chosen step of both sides counts the same, else the means are compared.">
              Known
            </Heading>
          </tr>
        </thead>
        <tbody>
          {answer.counts.map((one) => (
            <tr key={one.key}>
              <td>{one.label}</td>
              <td className="num">{words(one, one.base)}</td>
              <td className="num">{words(one, one.other)}</td>
              <td className={`num ${one.base === one.other ? "dim" : ""}`}>{difference(one)}</td>
              <td className="dim">{one.is_exact ? "exactly" : "on average"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function Limits({ answer, isOld }: { answer: Diff; isOld: boolean }) {
  const rows = answer.mismatches;
  return (
    <Panel
      title="Are they comparable?"
      hint={rows.length === 0 ? "nothing speaks against it" : ""}
      isOld={isOld}
    >
      {rows.length === 0 ? (
        <p className="dim">
          Device, ranks, clocks, format of torch, shapes and options of the profiler agree.
        </p>
      ) : (
        <ul className="diff-limits">
          {rows.map((one) => (
            <li key={one.what}>
              <span aria-hidden="true">△</span> <Prose text={one.text} />{" "}
              {one.base === "" && one.other === "" ? null : (
                <span className="dim">
                  A {one.base || DASH} · B {one.other || DASH}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {answer.reason === "" ? null : (
        <p className="hint">
          <Prose text={answer.reason} />
        </p>
      )}
    </Panel>
  );
}
