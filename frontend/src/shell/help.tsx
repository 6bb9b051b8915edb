/** The keys of the page, and where the numbers come from. */
import type { ReactNode } from "react";
import type { Info } from "../api/types.gen";
import { Modal } from "../components/modal";

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

export function Help({ info, onClose }: HelpProps) {
  return (
    <Modal title="Keys" width={520} onClose={onClose}>
      <dl className="keys">
        {info.views.map(({ stem, title, key, question }) => (
          <Keys key={stem} keys={["g", key]}>
            {title} <span className="dim">{question}</span>
          </Keys>
        ))}
        <Keys keys={["Ctrl K"]}>Search or jump</Keys>
        <Keys keys={["[", "]"]}>Previous and next step</Keys>
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
