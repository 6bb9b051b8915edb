/** Process groups, whose role may be said otherwise. */
import { useMemo, useState } from "react";
import type { Distributed, DistributedGroup } from "../../api/types.gen";
import { bytes, count, plural, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { Select } from "../../components/controls/select";
import { type Cells, declaredColumns, declaredToPlain } from "../../components/data_table/declared";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useWords } from "../../state/page_context";
import { FewRows, none } from "./lists";

const ROLES = [
  "data parallel",
  "sharded data parallel",
  "tensor parallel",
  "pipeline",
  "expert parallel",
  "model-parallel embeddings",
  "context parallel",
] as const;
interface StepBarsProps {
  readonly group: DistributedGroup;
  readonly steps: readonly string[];
}

/** Exposed time of each step, its blocking part filled. */
function StepBars({ group: { exposed_by_step, blocking_by_step }, steps }: StepBarsProps) {
  const inWords = useWords();
  const most = Math.max(1, ...exposed_by_step);
  const words = steps.map((step, at) =>
    inWords(
      `step ${step}: ${time(exposed_by_step[at] ?? 0)} exposed, ${time(blocking_by_step[at] ?? 0)} blocking`,
    ),
  );
  return (
    <span className="step-bars" role="img" aria-label={words.join("; ")} title={words.join("\n")}>
      {steps.map((step, at) => (
        <i key={step} style={{ height: `${((exposed_by_step[at] ?? 0) / most) * 100}%` }}>
          <b
            className="step-blocking"
            style={{
              height: `${((blocking_by_step[at] ?? 0) / Math.max(1, exposed_by_step[at] ?? 0)) * 100}%`,
            }}
          />
        </i>
      ))}
    </span>
  );
}

/** The roles that the user gave, in the address. */
function parseRoles(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(";").flatMap((part): [string, string][] => {
      const [key, role] = part.split("=");
      return key !== undefined && role !== undefined && role !== "" ? [[key, role]] : [];
    }),
  );
}

/** Fewer groups are looked at one by one. */
const MOST_UNFOLDED = 12;

/** Of many groups the worst of each shape and operations, those that block longest first. */
export function foldAlike(groups: readonly DistributedGroup[]): readonly DistributedGroup[] {
  if (groups.length <= MOST_UNFOLDED) {
    return groups;
  }
  const worst = new Map<string, DistributedGroup>();
  for (const group of groups) {
    const key = group.alike > 1 ? `${group.shape} ${group.role}` : `${group.key} ${group.label}`;
    const before = worst.get(key);
    if (before === undefined || group.blocking_ns > before.blocking_ns) {
      worst.set(key, group);
    }
  }
  return [...worst.values()].sort((a, b) => b.blocking_ns - a.blocking_ns);
}

export function Groups({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const address = useAddress();
  const given = parseRoles(useValues()["distributed.roles"] ?? "");
  const setRole = (group: DistributedGroup, role: string) => {
    const next = new Map(given);
    // Groups of one shape are of one kind: the role of one is that of all.
    const key = group.alike > 1 ? group.shape : group.key;
    next.delete(group.key);
    if (role === "") {
      next.delete(key);
    } else {
      next.set(key, role);
    }
    const text = [...next].map(([one, value]) => `${one}=${value}`).join(";");
    address.replace({ "distributed.roles": text || undefined });
  };
  const { groups, groups_columns: heads } = answer;
  const cells: Cells<DistributedGroup> = {
    label: {
      width: 150,
      grow: 2,
      cell: ({ label, note, alike }) => (
        <span title={note}>
          {harmless(label, 60)}
          {alike > 1 && folded.length < groups.length ? (
            <span className="dim"> worst of {count(alike)}</span>
          ) : null}
        </span>
      ),
    },
    key: {
      width: 140,
      grow: 1,
      sort: ({ size }) => size,
      cell: ({ key, size, missing }) => (
        <span title={missing === "" ? "" : `without a recording: ${missing}`}>
          {harmless(key, 30)} <span className="dim">{plural(size, "rank")}</span>
        </span>
      ),
    },
    role: {
      width: 170,
      grow: 1,
      cell: (group) => (
        <span
          title={`${group.why === "chosen" ? "chosen by you" : `guessed: ${group.why}`}${group.alike > 1 ? `; a choice is for all ${count(group.alike)} groups of this shape` : ""}`}
        >
          <Select
            label={`Role of ${group.label}`}
            value={group.role}
            options={[
              ["", group.why === "chosen" ? "as guessed" : "unknown"],
              ...ROLES.map((one) => [one, one] as const),
            ]}
            onChange={(next) => setRole(group, next)}
          />
        </span>
      ),
    },
    operations: {
      width: 120,
      grow: 2,
      cell: ({ operations }) => <span title={operations}>{harmless(operations, 120)}</span>,
    },
    bytes: { cell: (one) => (one.bytes === 0 ? none : bytes(one.bytes)) },
  };
  const toPlain = declaredToPlain<DistributedGroup>(heads);
  const columns = [
    ...declaredColumns(heads, groups, cells),
    // A picture of both times, not a value.
    ...(answer.steps.columns.length > 1
      ? [
          {
            key: "by_step",
            head: "By step",
            width: 96,
            grow: 0,
            help: "Exposed time in each step, its blocking part filled.",
            cell: (group: DistributedGroup) => (
              <StepBars group={group} steps={answer.steps.columns} />
            ),
          },
        ]
      : []),
  ];
  const [isWhole, setWhole] = useState(false);
  const folded = useMemo(() => (isWhole ? groups : foldAlike(groups)), [groups, isWhole]);
  const hasFolds = foldAlike(groups).length < groups.length;
  const sorted = useSorted(folded, columns, null);
  return (
    <Panel
      title="Process groups"
      hint={
        answer.layout.text === ""
          ? ""
          : `${answer.layout.text}, ${given.size > 0 ? "edited" : "guessed"}`
      }
      isOld={isOld}
      hasBody={false}
      controls={
        <>
          {hasFolds ? (
            <button
              type="button"
              className="btn quiet small"
              aria-pressed={!isWhole}
              onClick={() => setWhole(!isWhole)}
            >
              Fold equal groups
            </button>
          ) : null}
          <CopyTable label="process groups" table={() => toPlain(groups)} />
        </>
      }
    >
      <FewRows rows={sorted.rows}>
        {(rows) => (
          <DataTable
            label="Process groups"
            columns={columns}
            {...sorted}
            rows={rows}
            keyOf={({ key, label }) => `${key} ${label}`}
            toPlain={toPlain}
            empty="No process group."
            isOld={isOld}
          />
        )}
      </FewRows>
      <p className="below ink2 small">
        {[answer.pipeline_text, answer.experts_text].filter(Boolean).map((text) => (
          <span key={text}>
            <Prose text={text} />{" "}
          </span>
        ))}
      </p>
    </Panel>
  );
}
