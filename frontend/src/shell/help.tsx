/** The keys of the page, and where the numbers come from. */
import type { ReactNode } from "react";
import type { Info } from "../api/types.gen";
import { Modal } from "../components/modal";
import { type Command, useCommands } from "../state/commands";

interface HelpProps {
  readonly info: Info;
  readonly onClose: () => void;
}

function Keys({ keys, children }: { keys: readonly string[]; children: ReactNode }) {
  return (
    <>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{children}</dd>
    </>
  );
}

/** Commands with a key, by their headline. */
function byGroup(commands: readonly Command[]): readonly (readonly [string, readonly Command[]])[] {
  const groups = new Map<string, Command[]>();
  for (const command of commands.filter(({ keys }) => keys.length > 0)) {
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return [...groups];
}

export function Help({ info, onClose }: HelpProps) {
  const groups = byGroup(useCommands());
  return (
    <Modal title="Keys" width={groups.length > 0 ? 1180 : 520} onClose={onClose}>
      <div className={groups.length > 0 ? "key-groups" : ""}>
        {groups.map(([group, commands]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl className="keys wide">
              {commands.map(({ id, title, keys }) => (
                <Keys key={id} keys={keys}>
                  {title}
                </Keys>
              ))}
            </dl>
          </section>
        ))}
      </div>
      {groups.length > 0 ? <h3>Everywhere</h3> : null}
      <dl className="keys">
        {info.views.map(({ stem, title, key, question }) => (
          <Keys key={stem} keys={["g", key]}>
            {title} <span className="dim">{question}</span>
          </Keys>
        ))}
        <Keys keys={["Ctrl K"]}>Search or jump</Keys>
        {groups.length > 0 ? null : <Keys keys={["[", "]"]}>Previous and next step</Keys>}
        <Keys keys={["Esc"]}>Clear the innermost choice: menu, filter, steps</Keys>
        <Keys keys={["/"]}>Filter in place</Keys>
        <Keys keys={["L"]}>Copy a link to just this view</Keys>
        <Keys keys={["?"]}>This list</Keys>
      </dl>
      <p className="hint">
        In the step strip: click for one step, drag or Shift for a range, ← → to walk.
      </p>
      <p className="hint">
        kinetoscope {info.version}, {info.reader} reader. Nothing leaves this machine.
      </p>
    </Modal>
  );
}
