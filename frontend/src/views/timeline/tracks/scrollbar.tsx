/** How far the rows are scrolled. The wheel and the keys scroll, too; this one is to be dragged. */
import { type PointerEvent, useMemo, useRef } from "react";
import { useCell } from "../../../state/cell";
import { rowHeight } from "../../../timeline/rows/layout";
import { useTimelineContext } from "../state/context";

const LEAST = 28;

export function Scrollbar() {
  const { moving, model, engine } = useTimelineContext();
  const height = useCell(moving.frame, (frame) => frame.height);
  const scrollY = useCell(moving.frame, (frame) => frame.camera.scrollY);
  const from = useRef<{ y: number; scrollY: number } | null>(null);
  const [pinned, all] = useMemo(() => {
    const heightOf = (rows: typeof model.rows) =>
      rows.reduce((sum, row) => sum + rowHeight(row), 0);
    return [heightOf(model.pinned), heightOf(model.rows)];
  }, [model]);
  const room = height - pinned;
  if (room <= 0 || all <= room) {
    return null;
  }
  const length = Math.max(LEAST, (room / all) * room);
  const travel = room - length;
  const most = all - room;
  const top = pinned + Math.min(1, scrollY / most) * travel;
  const onPointerMove = (event: PointerEvent) => {
    const { current } = from;
    if (current !== null && travel > 0) {
      const wanted = current.scrollY + ((event.clientY - current.y) / travel) * most;
      engine?.scroll(wanted - moving.frame.get().camera.scrollY);
    }
  };
  const release = () => {
    from.current = null;
  };
  return (
    <div
      className="tl-scrollbar"
      aria-hidden="true"
      style={{ height: length, transform: `translateY(${top}px)` }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { y: event.clientY, scrollY };
      }}
      onPointerMove={onPointerMove}
      onPointerUp={release}
      onPointerCancel={release}
    />
  );
}
