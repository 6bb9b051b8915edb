/** Beside the figures: logs of a hang, and notes of the comparison. */
import type { Distributed, HangRow } from "../../api/types.gen";
import { plural, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Heading } from "../../components/data_table/heading";
import { Answered } from "../../components/states/answered";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { Paragraph, Prose } from "../../components/text/prose";
import { useAsked, usePart } from "../../state/parts";
import { none } from "./lists";

const nameOf = ({ group, operation, sequence }: HangRow) =>
  `${harmless(operation)} #${sequence} of ${harmless(group, 60)}`;

/** Long lists of ranks wrap, and rows have a head of three values: no table of plain columns. */
const COLUMNS = [
  ["missed", "Missed", "Ranks that never entered it, as their logs tell."],
  ["waiting", "Waiting", "Ranks that entered it and did not leave."],
  ["no_log", "No log", "Ranks of the group that left no log."],
  ["part_of_log", "Part of log", "Ranks whose log does not reach so far."],
  ["place", "Issued at", "The line of code that issued it."],
] as const;

/** Those that some log tells: the Inspector's say of nobody that it waits. */
const columnsOf = (rows: readonly HangRow[]) =>
  COLUMNS.filter(([key]) => rows.some((row) => row[key] !== ""));

/** Logs of a hang beside the traces: who never entered which collective. */
export function Hang() {
  const state = usePart("distributed/hang", useAsked(), {});
  return (
    <Panel
      title="Logs of a hang"
      hint={
        state.data === undefined ? "" : `of ${plural(state.data.ranks, "rank")}, in this folder`
      }
    >
      <Answered state={state}>
        {({ sentence, detail, notes, rows }) => (
          <>
            {rows.length > 0 ? null : <p className="strong">{harmless(sentence, 400)}</p>}
            <Paragraph className="ink2 small" text={detail} />
            {rows.length === 0 ? null : (
              <div className="scroll">
                <table className="hang">
                  <thead>
                    <tr>
                      <Heading help="Group, operation and number, as the logs have them.">
                        Collective
                      </Heading>
                      <Heading help="The problem of this collective.">Problem</Heading>
                      {columnsOf(rows).map(([key, head, help]) => (
                        <Heading key={key} help={help}>
                          {head}
                        </Heading>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((row) => (
                      <tr key={nameOf(row)}>
                        <th scope="row">{nameOf(row)}</th>
                        <td>{row.problem}</td>
                        {columnsOf(rows).map(([key]) => (
                          <td key={key} className={key === "place" ? "mono" : ""}>
                            {row[key] === "" ? none : harmless(row[key])}
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            {notes.map((note) => (
              <p key={note} className="hint">
                {harmless(note, 400)}
              </p>
            ))}
          </>
        )}
      </Answered>
    </Panel>
  );
}

/** What should be done, and what could not be checked. */
export function Findings({ answer }: { answer: Distributed }) {
  const { findings, unchecked } = answer;
  if (findings.length === 0 && unchecked.length === 0) {
    return null;
  }
  return (
    <Panel title="Findings" hint="of this run" className="notes-panel">
      <FirstFew items={findings} most={4}>
        {(shown) => (
          <ul className="run-findings">
            {shown.map(({ id, title, text, gain_ns, method }) => (
              <li key={`${id} ${title}`}>
                <b>{harmless(title, 120)}</b>{" "}
                {gain_ns === null ? null : (
                  <span className="chip" title={method}>
                    up to {time(gain_ns)} a step
                  </span>
                )}
                <Paragraph className="ink2 small" text={text} />
              </li>
            ))}
          </ul>
        )}
      </FirstFew>
      {unchecked.length === 0 ? null : (
        <p className="hint">Not checked: {unchecked.map((one) => harmless(one, 300)).join(" ")}</p>
      )}
    </Panel>
  );
}

export function Notes({ answer }: { answer: Distributed }) {
  const { notes } = answer;
  if (notes.length === 0) {
    return null;
  }
  return (
    <Panel title="Limits of this comparison" className="notes-panel">
      <FirstFew items={notes} most={6}>
        {(shown) => (
          <ul className="notes">
            {shown.map((note) => (
              <li key={note} className="ink2 small">
                <Prose text={note} />
              </li>
            ))}
          </ul>
        )}
      </FirstFew>
    </Panel>
  );
}
