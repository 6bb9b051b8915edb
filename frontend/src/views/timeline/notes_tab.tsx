/** The notes on the time axis: go there, write, remove. */
import { useState } from "react";
import { time } from "../../base/format";
import { formatNotes, LINK_MAX, type Note } from "./notes";
import { useStage } from "./stage_context";
import { around, withMargin } from "./view_range";

function NoteLine({ note, place }: { note: Note; place: number }) {
  const { link, change, actions, moving } = useStage();
  const [text, setText] = useState(note.text);
  const replaced = (next: Note | null) =>
    link.notes.flatMap((other, at) => (at === place ? (next === null ? [] : [next]) : [other]));
  const go = () => {
    const { camera, width } = moving.frame.get();
    const range = { start: note.at, end: note.end ?? note.at };
    actions.show(note.end === null ? around(range, width * camera.nsPerPx) : withMargin(range, 1));
  };
  return (
    <li className="tl-note-line">
      <button type="button" className="link nowrap" onClick={go}>
        {time(note.at)}
        {note.end === null ? "" : `, ${time(note.end - note.at)} long`}
      </button>
      <input
        className="input small grow"
        aria-label="Note"
        placeholder="What is here?"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => {
          if (text !== note.text) {
            change({ notes: replaced({ ...note, text }) });
          }
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.currentTarget.blur();
          }
        }}
      />
      <button
        type="button"
        className="btn quiet small"
        onClick={() => change({ notes: replaced(null) })}
      >
        Remove
      </button>
    </li>
  );
}

export function NotesTab() {
  const { link } = useStage();
  if (link.notes.length === 0) {
    return (
      <p className="tl-none ink2">
        No notes yet. Select a slice or an area and press <kbd>Shift M</kbd>.
      </p>
    );
  }
  const isLong = formatNotes(link.notes).length > LINK_MAX;
  return (
    <div className="tl-grid-scroll">
      <ul className="tl-notes">
        {link.notes.map((note, place) => (
          <NoteLine key={`${note.at} ${note.end} ${note.text}`} note={note} place={place} />
        ))}
      </ul>
      <p className="tl-note hint">
        {isLong
          ? "These notes make the link longer than some programs take: shorten or remove some before you send it."
          : "Notes travel in the link: copy it with L."}
      </p>
    </div>
  );
}
