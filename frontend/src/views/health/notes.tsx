/** Limits of the recording, worst first: what it is, what follows, what it touches. */
import type { ReactNode } from "react";
import type { Note } from "../../api/types.gen";
import { count } from "../../base/text/format";
import { Panel } from "../../components/states/panel";
import { CheckIcon, ErrorIcon, InfoIcon, WarningIcon } from "../../components/text/icons";
import { Paragraph, Prose } from "../../components/text/prose";
import { usePage } from "../../state/page_context";

interface Sign {
  readonly icon: ReactNode;
  readonly className: string;
  readonly word: string;
}

const INFO: Sign = { icon: <InfoIcon />, className: "no", word: "note" };
const SIGNS: Readonly<Record<string, Sign>> = {
  error: { icon: <ErrorIcon />, className: "bad", word: "lost" },
  warning: { icon: <WarningIcon />, className: "part", word: "limits" },
  good: { icon: <CheckIcon />, className: "yes", word: "good" },
};

function howOften({ count: often, total, title, severity }: Note): string {
  const isAll = total === 0 && (often < 2 || severity === "good");
  if (isAll || title.includes(count(often))) {
    return "";
  }
  return total > 0 ? `${count(often)} of ${count(total)}` : `${count(often)}×`;
}

const NAMED_MAX = 2;

/** The views there are whose figures it touches; the word of its severity where there are none. */
function Chips({ note, word }: { note: Note; word: string }) {
  const { info } = usePage();
  const names = info.views
    .filter((view) => note.taints.includes(view.stem))
    .map((view) => `affects ${view.title}`);
  const shown = names.length > NAMED_MAX ? [`affects ${names.length} views`] : names;
  return (
    <span className="note-chips">
      {(shown.length === 0 ? [word] : shown).map((name) => (
        <span key={name} className="chip" title={names.join("\n")}>
          {name}
        </span>
      ))}
    </span>
  );
}

function Example({ note }: { note: Note }) {
  if (note.example === "") {
    return null;
  }
  return (
    <details>
      <summary>Example</summary>
      <pre>{note.example}</pre>
      {note.offset < 0 ? null : (
        <p className="dim">at byte {count(note.offset)} of the unpacked text</p>
      )}
    </details>
  );
}

function Item({ note }: { note: Note }) {
  const sign = SIGNS[note.severity] ?? INFO;
  return (
    <li className="note-item">
      <span className={sign.className} title={note.severity}>
        {sign.icon}
        <span className="unseen">{note.severity}</span>
      </span>
      <div>
        <h3>
          <Prose text={note.title} /> <span className="dim note-count">{howOften(note)}</span>
        </h3>
        <Paragraph text={note.consequence} />
        <Paragraph text={note.remedy} />
        <Example note={note} />
      </div>
      <Chips note={note} word={sign.word} />
    </li>
  );
}

export function Notes({ notes, isOld }: { notes: readonly Note[]; isOld: boolean }) {
  return (
    <Panel
      title="Limits of this recording"
      hint="marks in other views lead here"
      isOld={isOld}
      hasBody={false}
    >
      {notes.length === 0 ? (
        <p className="body ink2">Nothing was missing, skipped or repaired.</p>
      ) : (
        <ul>
          {notes.map((note) => (
            <Item key={`${note.kind} ${note.title}`} note={note} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
