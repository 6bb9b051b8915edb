/** What was read, kind by kind, and what the file says about itself. */
import type { Count } from "../../api/types.gen";
import { fixed } from "../../base/format";
import { sum } from "../../base/rounding";
import { CopyTable } from "../../components/copy_table";
import { Panel } from "../../components/panel";
import { Prose } from "../../components/prose";
import { Tip } from "../../components/tip";

interface CountsProps {
  readonly counts: readonly Count[];
  readonly recording: Readonly<Record<string, string>>;
  readonly isOld: boolean;
}

const toTable = (counts: readonly Count[]) => ({
  header: ["kind", "event_count"],
  rows: counts.map(({ label, count }) => [label, count]),
});

export function Counts({ counts, recording, isOld }: CountsProps) {
  const total = sum(counts.map(({ count }) => count));
  return (
    <Panel
      title="What was read"
      hint={`${fixed(total, 0)} ${total === 1 ? "event" : "events"}, each in one row`}
      isOld={isOld}
      controls={<CopyTable label="the counts" table={() => toTable(counts)} />}
    >
      <dl className="counts">
        {counts.map(({ label, count, help }) => (
          <div key={label}>
            <dt>
              <Tip text={help}>{label}</Tip>
            </dt>
            <dd className="num">{fixed(count, 0)}</dd>
          </div>
        ))}
      </dl>
      <dl className="counts recording">
        {Object.entries(recording).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Prose text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
