/** How busy each device is within the area, with what, and where its longest gap lies. */
import type { AreaAnswer, AreaDevice } from "../../../api/types.gen";
import { count, DASH, share, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { fillClass } from "../../../components/charts/category";
import { Heading } from "../../../components/data_table/heading";
import { Paragraph } from "../../../components/text/prose";
import { useTimelineContext } from "../state/context";
import type { Scope } from "../state/range";
import { withMargin } from "../state/range";

interface Part {
  readonly key: string;
  readonly label: string;
  readonly fill: string;
  readonly ns: number;
}

/** Parts of the area that touch and sum to it. */
export function deviceParts(device: AreaDevice): readonly Part[] {
  const { busy_ns, idle_ns, unknown_ns, compute_ns, communication_ns, overlap_ns } = device;
  const kernels = compute_ns + communication_ns - overlap_ns;
  const parts = [
    ["compute", "Compute", fillClass("compute", false), compute_ns - overlap_ns],
    ["overlap", "Compute over communication", fillClass("overlap", false), overlap_ns],
    ["comm", "Exposed communication", fillClass("comm", false), communication_ns - overlap_ns],
    [
      "memcpy",
      "Copies, memsets and other work alone",
      fillClass("memcpy", false),
      busy_ns - kernels,
    ],
    ["idle", "Idle", fillClass("idle", false), idle_ns],
    [
      "unknown",
      "Not judged: launched before the recording, or start-up",
      fillClass("other", true),
      unknown_ns,
    ],
  ] as const;
  return parts
    .map(([key, label, fill, ns]) => ({ key, label, fill, ns: Math.max(0, ns) }))
    .filter(({ ns }) => ns > 0);
}

function Gap({ device, scope }: { device: AreaDevice; scope: Scope }) {
  const { actions } = useTimelineContext();
  const { longest_gap_ns, longest_gap_ts } = device;
  if (longest_gap_ts === null) {
    return DASH;
  }
  const start = longest_gap_ts + scope.source.offset;
  return (
    <button
      type="button"
      className="link"
      title="Show the longest gap"
      onClick={() => actions.show(withMargin({ start, end: start + longest_gap_ns }, 0.4))}
    >
      {time(longest_gap_ns)}
    </button>
  );
}

export function AreaDevices({ answer, scope }: { answer: AreaAnswer; scope: Scope }) {
  const { devices, devices_missing } = answer;
  if (devices.length === 0) {
    return (
      <Paragraph
        className="tl-none ink2"
        text={devices_missing || "No device worked in this area."}
      />
    );
  }
  const length = scope.range.end - scope.range.start;
  return (
    <div className="tl-grid-scroll">
      <table className="tl-devices">
        <thead>
          <tr>
            <Heading help="A device with activity in the area.">Device</Heading>
            <Heading help="The area, parted by what ran." className="tl-bar-head">
              Busy with
            </Heading>
            <Heading help="Time in which anything ran on it, each instant once." className="num">
              Busy
            </Heading>
            <Heading help="Time in which nothing ran on it." className="num">
              Idle
            </Heading>
            <Heading help="Time in which compute kernels ran." className="num">
              Compute
            </Heading>
            <Heading help="Time in which collectives ran." className="num">
              Communication
            </Heading>
            <Heading help="Time in which compute and communication overlap." className="num minor">
              Both
            </Heading>
            <Heading help="Time in which memory was copied or set." className="num minor">
              Copies
            </Heading>
            <Heading help="Number of intervals in which nothing ran." className="num">
              Gaps
            </Heading>
            <Heading help="The longest of them; leads to it." className="num">
              Longest gap
            </Heading>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <tr key={device.label}>
              <td className="clip">
                <bdi>{harmless(device.label, 60)}</bdi>
              </td>
              <td>
                <div className="tl-device-bar">
                  {deviceParts(device).map((part) => (
                    <i
                      key={part.key}
                      className={part.fill}
                      style={{ flexGrow: part.ns }}
                      title={`${part.label}: ${time(part.ns)}, ${share(part.ns / length)}`}
                    />
                  ))}
                </div>
              </td>
              <td className="num strong">{share(device.busy_ns / length)}</td>
              <td className="num">{time(device.idle_ns)}</td>
              <td className="num">{time(device.compute_ns)}</td>
              <td className="num">{time(device.communication_ns)}</td>
              <td className="num minor">{time(device.overlap_ns)}</td>
              <td className="num minor">{time(device.copy_ns)}</td>
              <td className="num">{count(device.gaps)}</td>
              <td className="num">
                <Gap device={device} scope={scope} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="tl-note hint">
        Busy is the union of all streams, so nothing counts twice; busy and idle sum to the{" "}
        {scope.isArea ? "area" : "view"} exactly.
      </p>
    </div>
  );
}
