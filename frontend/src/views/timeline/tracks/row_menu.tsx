/** What can be done with one row: a small button in its label. */
import { Popover } from "../../../components/overlays/popover";
import { DotsIcon } from "../icons";
import type { ChosenMode } from "../state/arrangement";
import { useTimelineContext } from "../state/context";
import type { RowInfo } from "./rows";

const MODES: readonly (readonly [ChosenMode, string, string])[] = [
  ["full", "Labels", "lanes at full height, deep ones small"],
  ["deep", "All lanes", "every lane at full height"],
  ["compact", "Compact", "small lanes without labels"],
  ["heat", "Strip", "all lanes in one strip"],
];

interface RowMenuProps {
  readonly info: RowInfo;
  readonly isStop: boolean;
  readonly onFocus: () => void;
}

interface ItemProps {
  readonly words: string;
  readonly hint?: string;
  readonly run: () => void;
}

function Item({ words, hint = "", run }: ItemProps) {
  return (
    <button type="button" role="menuitem" className="option" onClick={run}>
      <span className="grow">{words}</span>
      <span className="hint">{hint}</span>
    </button>
  );
}

function Choice({ words, hint = "", isOn, run }: ItemProps & { readonly isOn: boolean }) {
  return (
    <button type="button" role="menuitemradio" aria-checked={isOn} className="option" onClick={run}>
      <span className="grow">{words}</span>
      <span className="hint">{hint}</span>
    </button>
  );
}

export function RowMenu({ info, isStop, onFocus }: RowMenuProps) {
  const { actions, engine } = useTimelineContext();
  const { track } = info;
  const mode: ChosenMode = info.chosen ?? (info.mode === "hidden" ? "full" : info.mode);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notes which row has the focus
    <span className="tl-row-menu" onFocus={onFocus}>
      <Popover
        className="btn quiet icon small"
        kind="menu"
        label={`Track ${info.label}`}
        button={<DotsIcon />}
        row={info.key}
        tabIndex={isStop ? 0 : -1}
      >
        {(close) => {
          const doing = (run: () => void) => () => {
            close();
            run();
          };
          return (
            <div role="menu" aria-label={info.label}>
              <Item
                words={info.isPinned ? "Unpin" : "Pin to the top"}
                hint="P"
                run={doing(() => actions.pin(info))}
              />
              <Item words="Hide" hint="H" run={doing(() => actions.hide(info))} />
              <Item words="Move up" run={doing(() => actions.moveRow(info, -1))} />
              <Item words="Move down" run={doing(() => actions.moveRow(info, 1))} />
              {track === null ? null : (
                <>
                  <hr />
                  {MODES.map(([key, words, hint]) => (
                    <Choice
                      key={key}
                      words={words}
                      hint={hint}
                      isOn={mode === key}
                      run={doing(() => actions.setRowMode(info, key))}
                    />
                  ))}
                  <hr />
                  <Item
                    words="Show from its first to its last slice"
                    run={doing(() => {
                      const { offset } = info.source;
                      engine?.show(
                        track.first_ns + offset,
                        Math.max(track.last_ns, track.first_ns + 1) + offset,
                      );
                    })}
                  />
                </>
              )}
            </div>
          );
        }}
      </Popover>
    </span>
  );
}
