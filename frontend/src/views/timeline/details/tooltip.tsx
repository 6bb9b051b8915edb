/** What is below the pointer, beside it. */

import { useLayoutEffect, useRef } from "react";
import { kindWord } from "../../../base/style/kind_hues";
import { DASH, inUnit, plural, share, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { useCell } from "../../../state/cell";
import type { Hit } from "../../../timeline/contract";
import { type Hovered, useTimelineContext } from "../state/context";

const MARGIN = 12;

function SliceTip({ hit }: { hit: Extract<Hit, { type: "slice" }> }) {
  const isOverlap = (hit.flags & 1) !== 0;
  const isIncomplete = (hit.flags & 2) !== 0;
  return (
    <>
      <bdi className="tl-tip-name">{harmless(hit.name, 160) || DASH}</bdi>
      <span>
        <b className="strong">{time(hit.end - hit.start)}</b>{" "}
        <span className="dim">{kindWord(hit.kind)}</span>
      </span>
      {isOverlap ? <span className="dim">overlaps its neighbours</span> : null}
      {isIncomplete ? <span className="dim">the recording ended before it did</span> : null}
    </>
  );
}

function BucketTip({ hit }: { hit: Extract<Hit, { type: "bucket" }> }) {
  return (
    <>
      <bdi className="tl-tip-name">{harmless(hit.name, 160) || DASH}</bdi>
      <span>
        {hit.count > 1 ? `the longest of ${plural(hit.count, "slice")} here` : kindWord(hit.kind)}
        {hit.count > 1 ? `, ${share(hit.busyRatio, 0)} busy` : ""}
      </span>
      <span className="dim">double press to zoom there</span>
    </>
  );
}

function CounterTip({ hit }: { hit: Extract<Hit, { type: "counter" }> }) {
  const { model } = useTimelineContext();
  const counter = model.infos.get(hit.row)?.counter;
  const unit = counter?.unit ?? "";
  const isFlat = hit.low === hit.high;
  return (
    <>
      <bdi className="tl-tip-name">{harmless(counter?.label ?? "", 100)}</bdi>
      <b className="strong">{inUnit(hit.last, unit)}</b>
      {isFlat ? null : (
        <span className="dim">
          from {inUnit(hit.low, unit)} to {inUnit(hit.high, unit)} in this pixel
        </span>
      )}
    </>
  );
}

function Body({ hit }: { hit: Hit }) {
  switch (hit.type) {
    case "slice":
      return <SliceTip hit={hit} />;
    case "bucket":
      return <BucketTip hit={hit} />;
    default:
      return <CounterTip hit={hit} />;
  }
}

function Placed({ hovered, hit }: { hovered: Hovered; hit: Hit }) {
  const tip = useRef<HTMLDivElement>(null);
  const { moving } = useTimelineContext();
  useLayoutEffect(() => {
    const element = tip.current;
    if (element === null) {
      return;
    }
    const { width, height } = moving.frame.get();
    const isRight = hovered.x + MARGIN + element.offsetWidth <= width;
    const isBelow = hovered.y + MARGIN + element.offsetHeight <= height;
    const x = isRight ? hovered.x + MARGIN : hovered.x - MARGIN - element.offsetWidth;
    const y = isBelow ? hovered.y + MARGIN : hovered.y - MARGIN - element.offsetHeight;
    element.style.transform = `translate(${Math.max(0, x)}px, ${Math.max(0, y)}px)`;
  });
  return (
    <div ref={tip} className="tl-tip" aria-hidden="true">
      <Body hit={hit} />
    </div>
  );
}

export function Tooltip() {
  const { moving } = useTimelineContext();
  const hovered = useCell(moving.hover);
  const draft = useCell(moving.draft);
  return hovered?.hit == null || draft !== null ? null : (
    <Placed hovered={hovered} hit={hovered.hit} />
  );
}
