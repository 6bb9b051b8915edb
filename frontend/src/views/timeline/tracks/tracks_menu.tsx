/** All tracks: which are shown, pinned and in which order; filtered by name, kind and how busy they are. */
import { useId, useState } from "react";
import { count, plural, share } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { IconButton } from "../../../components/controls/icon_button";
import { SearchField } from "../../../components/controls/search_field";
import { Select } from "../../../components/controls/select";
import { matches } from "../../../components/overlays/option_list";
import { formatArrangement, UNARRANGED, withHidden } from "../state/arrangement";
import { useTimelineContext } from "../state/context";
import { isWork, type RowInfo } from "./rows";

const FACETS = [
  ["all", "All"],
  ["thread", "Threads"],
  ["python", "Python"],
  ["stream", "Streams"],
  ["counter", "Counters"],
  ["other", "Other"],
] as const;

type Facet = (typeof FACETS)[number][0];

const BUSY = [
  ["0", "any"],
  ["0.0001", "0.01 %"],
  ["0.001", "0.1 %"],
  ["0.01", "1 %"],
  ["0.1", "10 %"],
] as const;

function facetOf({ type, track }: RowInfo): Facet {
  if (type === "counter") {
    return "counter";
  }
  if (track !== null && isWork(track)) {
    return "stream";
  }
  const kind = track?.kind;
  return kind === "thread" || kind === "python" ? kind : "other";
}

interface TileRequest {
  readonly text: string;
  readonly facet: Facet;
  readonly busy: (typeof BUSY)[number][0];
}

function isRequested(info: RowInfo, { text, facet, busy }: TileRequest, wholeNs: number): boolean {
  return (
    matches(`${info.label} ${info.detail} ${info.source.worker}`, text) &&
    (facet === "all" || facetOf(info) === facet) &&
    (info.type === "counter" || info.busyNs >= Number(busy) * wholeNs)
  );
}

function TrackLine({ info }: { info: RowInfo }) {
  const { actions, whole } = useTimelineContext();
  const label = harmless(info.label, 100);
  const busy = info.busyNs / (whole.end - whole.start);
  return (
    <div className="option tl-track-line">
      <label className="row grow clip">
        <input type="checkbox" checked={!info.isHidden} onChange={() => actions.hide(info)} />
        <bdi className="clip">{label}</bdi>
        <span className="hint clip grow">{harmless(info.detail, 60)}</span>
      </label>
      <span className="hint nowrap">
        {info.track === null ? "" : `${count(info.track.slices)} · ${share(busy)}`}
      </span>
      <button
        type="button"
        className="btn quiet small"
        aria-pressed={info.isPinned}
        onClick={() => actions.pin(info)}
      >
        {info.isPinned ? "Unpin" : "Pin"}
      </button>
      <MoveButtons info={info} label={label} />
    </div>
  );
}

function MoveButtons({ info, label }: { info: RowInfo; label: string }) {
  const { actions } = useTimelineContext();
  return (
    <>
      <IconButton
        className="small"
        label={`Move ${label} up`}
        onClick={() => actions.moveRow(info, -1)}
      >
        ↑
      </IconButton>
      <IconButton
        className="small"
        label={`Move ${label} down`}
        onClick={() => actions.moveRow(info, 1)}
      >
        ↓
      </IconButton>
    </>
  );
}

function HeadingLine({ info }: { info: RowInfo }) {
  const { actions } = useTimelineContext();
  const label = harmless(info.label, 100);
  return (
    <div className="option tl-track-line strong">
      <label className="row grow clip">
        <input type="checkbox" checked={!info.isHidden} onChange={() => actions.hide(info)} />
        <bdi className="clip">{label}</bdi>
      </label>
      <MoveButtons info={info} label={label} />
    </div>
  );
}

const LISTED_MAX = 400;

export default function TracksMenu() {
  const { model, whole, actions, link } = useTimelineContext();
  const [tileRequest, setRequest] = useState<TileRequest>({ text: "", facet: "all", busy: "0" });
  const id = useId();
  const length = whole.end - whole.start;
  const infos = [...model.infos.values()];
  const members = infos.filter((info) => info.type !== "heading");
  const requested = members.filter((info) => isRequested(info, tileRequest, length));
  const groups = new Set(requested.map((info) => info.group));
  const listed = infos.filter((info) =>
    info.type === "heading" ? groups.has(info.id) : requested.includes(info),
  );
  const isNarrowed = requested.length < members.length;
  const showOnly = () => {
    const ids = new Set(requested.map((info) => info.id));
    const rest = members.filter((info) => !ids.has(info.id)).map((info) => info.id);
    const shown = withHidden(link.arrangement, [...ids, ...groups], false);
    actions.arrange(withHidden(shown, rest, true));
  };
  const ids = requested.map((info) => info.id);
  return (
    <div className="tl-tracks-menu">
      <div className="row wrap">
        <SearchField
          words="Filter the tracks"
          value={tileRequest.text}
          onChange={(text) => setRequest({ ...tileRequest, text })}
        />
        <Select
          label="Kind of track"
          options={FACETS}
          value={tileRequest.facet}
          onChange={(facet) => setRequest({ ...tileRequest, facet })}
        />
        <label className="row hint" htmlFor={id}>
          busy at least
          <Select
            id={id}
            options={BUSY}
            value={tileRequest.busy}
            onChange={(busy) => setRequest({ ...tileRequest, busy })}
          />
        </label>
      </div>
      <div className="row wrap">
        <span className="hint grow">
          {isNarrowed ? `${requested.length} of ` : ""}
          {plural(members.length, "track")}, {model.shown} shown
        </span>
        {isNarrowed ? (
          <>
            <button type="button" className="btn small" onClick={showOnly}>
              Show only these
            </button>
            <button
              type="button"
              className="btn small"
              onClick={() => actions.arrange(withHidden(link.arrangement, ids, true))}
            >
              Hide these
            </button>
          </>
        ) : null}
        <button
          type="button"
          className="btn small"
          disabled={formatArrangement(link.arrangement) === ""}
          onClick={() => actions.arrange(UNARRANGED)}
        >
          Reset
        </button>
      </div>
      <div className="tl-scroll-list">
        {listed
          .slice(0, LISTED_MAX)
          .map((info) =>
            info.type === "heading" ? (
              <HeadingLine key={info.key} info={info} />
            ) : (
              <TrackLine key={info.key} info={info} />
            ),
          )}
        {listed.length > LISTED_MAX ? (
          <p className="empty">{listed.length - LISTED_MAX} more: filter to narrow the list.</p>
        ) : null}
        {listed.length === 0 ? <p className="empty">No such track.</p> : null}
      </div>
    </div>
  );
}
