/** Keys of the Trace view, and its commands for the palette and the list of keys. */
import { useEffect, useMemo, useRef } from "react";
import { copyText } from "../../base/clipboard";
import { type Command, useRegisterCommands } from "../../state/commands";
import { chords, isTyping } from "../../state/keys";
import { usePage } from "../../state/page_context";
import type { Move } from "../../timeline/contract";
import { COMMANDS } from "./commands";
import { type Action, boundTo } from "./keys";
import type { Unit } from "./link";
import { keptNote, markOf } from "./marking";
import type { RowInfo } from "./rows";
import { type Stage, useStage } from "./stage_context";
import { useTakeAway } from "./use_take_away";

/** Held keys move until they are let go. */
const MOVES: Partial<Readonly<Record<Action, Move>>> = {
  "zoom-in": "in",
  "zoom-out": "out",
  left: "left",
  right: "right",
  "scroll-up": "up",
  "scroll-down": "down",
};

const NEXT_UNIT: Readonly<Record<Unit, Unit>> = { step: "trace", trace: "wall", wall: "step" };

/** The track at the pointer or with the focus; else the one of the selection. */
function currentRow({ moving, model, selection }: Stage): RowInfo | null {
  const hovered = moving.hover.get()?.hit?.row;
  const key = moving.row.get() || hovered;
  return (key === undefined ? undefined : model.infos.get(key)) ?? selection?.row ?? null;
}

/** Clears the innermost thing; false when nothing is left to clear. */
function cleared(stage: Stage): boolean {
  const { moving, link, change, engine, actions, selection } = stage;
  const { arrangement } = link;
  if (moving.measured.get() !== null) {
    moving.measured.set(null);
    // The canvas forgets what it measured when the mode is set anew.
    engine?.setMode(link.mode);
    return true;
  }
  if (link.area !== null) {
    change({ area: null });
    return true;
  }
  if (moving.mark.get() !== null) {
    moving.mark.set(null);
    return true;
  }
  if (selection !== null || link.select !== null) {
    actions.select(null);
    return true;
  }
  if (arrangement.focus.size > 0) {
    actions.arrange({ ...arrangement, focus: new Map() });
    return true;
  }
  if (link.find !== "") {
    change({ find: "", match: "text" });
    return true;
  }
  return false;
}

type Run = (stage: Stage) => void;

const onRow =
  (act: (stage: Stage, row: RowInfo) => void): Run =>
  (stage) => {
    const row = currentRow(stage);
    if (row === null) {
      stage.moving.notice.set("Point at a track first, or select one of its slices");
    } else {
      act(stage, row);
    }
  };

const copyName: Run = ({ selection, moving }) => {
  const name = selection?.details?.slice.name;
  if (name !== undefined) {
    copyText(name).then((done) =>
      moving.notice.set(done ? "Name copied" : "Copying is not allowed here"),
    );
  }
};

const hasMarkedText = () => (window.getSelection()?.toString() ?? "") !== "";

/** What needs nothing but the stage. What a held key does smoothly, the palette does in one step. */
const RUNS: Partial<Readonly<Record<Action, Run>>> = {
  "zoom-in": ({ engine }) => engine?.zoom(2),
  "zoom-out": ({ engine }) => engine?.zoom(0.5),
  left: ({ engine }) => engine?.pan(-0.25),
  right: ({ engine }) => engine?.pan(0.25),
  "scroll-up": ({ engine }) => engine?.scroll(-120),
  "scroll-down": ({ engine }) => engine?.scroll(120),
  "mode-select": ({ change }) => change({ mode: "select" }),
  "mode-pan": ({ change }) => change({ mode: "pan" }),
  "mode-zoom": ({ change }) => change({ mode: "zoom" }),
  "mode-measure": ({ change }) => change({ mode: "measure" }),
  whole: ({ actions }) => actions.showWhole(),
  reveal: ({ actions }) => actions.reveal(),
  "zoom-to": ({ actions }) => actions.fitSelection(),
  next: ({ actions }) => actions.move("lane", true),
  previous: ({ actions }) => actions.move("lane", false),
  up: ({ actions }) => actions.move("parent", false),
  down: ({ actions }) => actions.move("child", true),
  "row-next": ({ actions }) => actions.rowStep(true),
  "row-previous": ({ actions }) => actions.rowStep(false),
  "flow-next": ({ actions }) => actions.move("flow", true),
  "flow-previous": ({ actions }) => actions.move("flow", false),
  "same-next": ({ actions }) => actions.move("name", true),
  "same-previous": ({ actions }) => actions.move("name", false),
  "area-of-selection": ({ actions }) => actions.areaOfSelection(),
  "hit-next": ({ actions }) => actions.hit(true),
  "hit-previous": ({ actions }) => actions.hit(false),
  unit: ({ link, change }) => change({ unit: NEXT_UNIT[link.unit] }),
  panel: ({ link, actions }) => actions.openTab(link.tab === null ? "summary" : null),
  pin: onRow(({ actions }, row) => actions.pin(row)),
  hide: onRow(({ actions }, row) => actions.hide(row)),
  collapse: onRow(({ actions }, row) => actions.collapse(row, true)),
  expand: onRow(({ actions }, row) => actions.collapse(row, false)),
  mark: (stage) => stage.moving.mark.set(markOf(stage)),
  "mark-keep": (stage) => {
    stage.change({ notes: [...stage.link.notes, keptNote(stage)], tab: "notes" });
  },
  search() {
    const field = document.querySelector<HTMLInputElement>("[data-filter]");
    field?.focus();
    field?.select();
  },
  copy: copyName,
};

/** With a slice selected the vertical arrows walk through its nest, else they scroll. */
function resolved(action: Action, { link }: Stage): Action {
  if (link.select === null && action === "up") {
    return "scroll-up";
  }
  return link.select === null && action === "down" ? "scroll-down" : action;
}

/** Enter and the arrows belong to the button or the list that has the focus. */
function isElsewhere(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || isTyping(event.target)) {
    return true;
  }
  if (document.querySelector("dialog[open]") !== null) {
    return true;
  }
  const { target, key } = event;
  const isControl =
    target instanceof Element &&
    target.closest("button, a, summary, [role=tab], [role=menu], [role=radiogroup]") !== null;
  return isControl && (key === "Enter" || key.startsWith("Arrow") || key.startsWith("Page"));
}

export function useViewKeys(): void {
  const stage = useStage();
  const page = usePage();
  const { savePicture } = useTakeAway();
  const latest = useRef({ stage, page, savePicture });
  useEffect(() => {
    latest.current = { stage, page, savePicture };
  });

  const run = useMemo(() => {
    const picture = () => {
      const { notice } = latest.current.stage.moving;
      latest.current.savePicture().then(
        () => notice.set("Picture saved"),
        (error: unknown) => notice.set(String(error)),
      );
    };
    return (action: Action) => {
      const { stage: now, page: shell } = latest.current;
      if (action === "palette") {
        shell.openPalette();
      } else if (action === "png") {
        picture();
      } else if (action === "clear") {
        cleared(now);
      } else {
        RUNS[action]?.(now);
      }
    };
  }, []);

  useEffect(() => {
    const chord = chords();
    const held = new Map<string, Move>();
    /** What the press asks of this view; null when it is for somebody else. */
    const asked = (event: KeyboardEvent) => {
      // After "g", a letter opens another view.
      const isChord = chord(event.key.toLowerCase(), event.timeStamp).includes(" ");
      const bound = isChord || isElsewhere(event) ? null : boundTo(event);
      return bound?.action === "copy" && hasMarkedText() ? null : bound;
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const bound = asked(event);
      const { stage: now } = latest.current;
      // Esc with nothing to clear here is the page's.
      if (bound === null || (bound.action === "clear" && !cleared(now))) {
        return;
      }
      event.preventDefault();
      const action = resolved(bound.action, now);
      const move = MOVES[action];
      if (move !== undefined) {
        held.set(event.code, move);
        now.engine?.press(move, bound.isFast);
      } else if (action !== "clear") {
        run(action);
      }
    };
    const release = (code: string) => {
      const move = held.get(code);
      if (move !== undefined) {
        held.delete(code);
        latest.current.stage.engine?.release(move);
      }
    };
    const onKeyUp = (event: KeyboardEvent) => release(event.code);
    const onBlur = () => {
      for (const code of [...held.keys()]) {
        release(code);
      }
    };
    // On the document: behind the widgets that the key may belong to, before the page's own keys.
    document.addEventListener("keydown", onKeyDown);
    document.addEventListener("keyup", onKeyUp);
    window.addEventListener("blur", onBlur);
    return () => {
      onBlur();
      document.removeEventListener("keydown", onKeyDown);
      document.removeEventListener("keyup", onKeyUp);
      window.removeEventListener("blur", onBlur);
    };
  }, [run]);

  const commands = useMemo(
    () =>
      COMMANDS.map(
        ({ action, title, group, keys }): Command => ({
          id: `timeline ${action}`,
          title,
          group,
          keys,
          run: () => run(action),
        }),
      ),
    [run],
  );
  useRegisterCommands(commands);
}
