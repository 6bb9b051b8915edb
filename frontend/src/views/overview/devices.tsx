/** One card per device that was used; a table when there are many. */
import type { DeviceCard, Gauge } from "../../api/types.gen";
import { bytes, count, DASH, plural, share } from "../../base/text/format";
import { CopyTable } from "../../components/controls/copy_table";
import { Heading } from "../../components/data_table/heading";
import { Tip } from "../../components/overlays/tip";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";

const CARDS_MAX = 4;

const nameOf = (device: DeviceCard) => `${device.type} ${device.index}`;

function factsOf({ name, memory_bytes, capability }: DeviceCard): string {
  const facts = [
    name,
    memory_bytes === null ? "" : bytes(memory_bytes),
    capability === null ? "" : `cc ${capability}`,
  ];
  return facts.filter((fact) => fact !== "").join(" · ");
}

/** A figure, or a dash that says why there is none: other devices of the table have one. */
function GaugeValue({ gauge }: { gauge: Gauge }) {
  if (gauge.ratio !== null) {
    return <>{share(gauge.ratio)}</>;
  }
  return (
    <Tip text={<Prose text={gauge.reason} />} className="">
      {DASH}
      <span className="unseen">not available: {gauge.reason}</span>
    </Tip>
  );
}

function Gauges({ gauges }: { gauges: readonly Gauge[] }) {
  return (
    <dl className="gauges">
      {gauges.map(({ key, label, help, ratio }) =>
        ratio === null ? null : (
          <div key={key}>
            <dt>
              <Tip text={<Prose text={help} />}>{label}</Tip>
            </dt>
            <dd className="bar" aria-hidden="true">
              <i
                className="k compute"
                style={{ width: `${Math.min(1, Math.max(0, ratio)) * 100}%` }}
              />
            </dd>
            <dd className="num">{share(ratio)}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Figures that no device has, by the reason: a row of dashes says less. */
function NotRecorded({ gauges }: { gauges: readonly Gauge[] }) {
  const reasons = [...new Set(gauges.map(({ reason }) => reason))];
  return gauges.length === 0 ? null : (
    <details className="missing small">
      <summary>{count(gauges.length)} not available</summary>
      {reasons.map((why) => (
        <p key={why} className="ink2">
          <b>{gauges.flatMap(({ label, reason }) => (reason === why ? [label] : [])).join(", ")}</b>
          : <Prose text={why} />
        </p>
      ))}
    </details>
  );
}

const toTable = (devices: readonly DeviceCard[]) => ({
  header: ["device", "name", "memory_bytes", ...gaugeKeys(devices).map((key) => `${key}_ratio`)],
  rows: devices.map((device) => [
    nameOf(device),
    device.name,
    device.memory_bytes,
    ...gaugeKeys(devices).map(
      (key) => device.gauges.find((gauge) => gauge.key === key)?.ratio ?? null,
    ),
  ]),
});

const gaugeKeys = (devices: readonly DeviceCard[]) =>
  devices[0]?.gauges.map((gauge) => gauge.key) ?? [];

function DeviceTable({ devices, isOld }: { devices: readonly DeviceCard[]; isOld: boolean }) {
  const isKnown = ({ key }: Gauge) =>
    devices.some(({ gauges }) => gauges.some((one) => one.key === key && one.ratio !== null));
  const first = devices[0]?.gauges ?? [];
  return (
    <Panel
      title={plural(devices.length, "device")}
      hint={[...new Set(devices.map(factsOf))].join(" · ")}
      isOld={isOld}
      hasBody={false}
      className="wide"
      controls={<CopyTable label="the devices" table={() => toTable(devices)} />}
    >
      <div className="scroll device-table">
        <table>
          <thead>
            <tr>
              <Heading help="A device of the recording, by kind and number.">Device</Heading>
              {first.filter(isKnown).map((gauge) => (
                <Heading key={gauge.key} className="num" help={<Prose text={gauge.help} />}>
                  {gauge.label}
                </Heading>
              ))}
            </tr>
          </thead>
          <tbody>
            {devices.map((device) => (
              <tr key={device.row}>
                <th scope="row">{nameOf(device)}</th>
                {device.gauges.filter(isKnown).map((gauge) => (
                  <td key={gauge.key} className="num">
                    <GaugeValue gauge={gauge} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <NotRecorded gauges={first.filter((gauge) => !isKnown(gauge))} />
    </Panel>
  );
}

interface DevicesProps {
  readonly devices: readonly DeviceCard[];
  readonly isOld: boolean;
}

export function Devices({ devices, isOld }: DevicesProps) {
  const used = devices.filter((device) => device.used);
  if (used.length > CARDS_MAX) {
    return <DeviceTable devices={used} isOld={isOld} />;
  }
  return used.map((device) => (
    <Panel
      key={device.row}
      title={nameOf(device)}
      isOld={isOld}
      hint={<span title={factsOf(device)}>{factsOf(device)}</span>}
      className="device"
    >
      <Gauges gauges={device.gauges} />
      <NotRecorded gauges={device.gauges.filter(({ ratio }) => ratio === null)} />
      <p className="hint device-foot">
        {used.length} of {plural(devices.length, "visible device")} used
      </p>
    </Panel>
  ));
}
