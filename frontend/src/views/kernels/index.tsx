import type { KernelGroupBy, KernelQuery, Kernels } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { plainTable } from "../../base/text/delimited";
import { DASH, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink } from "../../components/controls/view_link";
import { DeclaredTable } from "../../components/data_table/declared";
import { PartTable } from "../../components/data_table/part_table";
import { type PerStep, usePerStep } from "../../components/data_table/per_step";
import { Tip } from "../../components/overlays/tip";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Hero } from "../../components/text/hero";
import { useAddress, useValues } from "../../state/host/environment";
import { canFill, usePage } from "../../state/page_context";
import { cellsOf } from "./cells";
import { Details } from "./details";
import { Fill } from "./fill";
import { GraphView } from "./graph_page";
import kernelsCss from "./kernels.css?inline";

/** Kernel time by class: all of it, what no rule knows last. */

const CATEGORY: Readonly<Record<string, string>> = {
  communication: "comm",
  copy: "memcpy",
  memset: "memset",
  unclassified: "other",
};

const classTable = plainTable<Kernels["classes"][number]>(["name", "ns", "ratio"]);

interface FiguresProps {
  readonly answer: Kernels;
  readonly isOld: boolean;
  readonly perStep: PerStep;
}

export function Classes({ answer, isOld, perStep }: FiguresProps) {
  const address = useAddress();
  const { shown } = usePage();
  const most = Math.max(...answer.classes.map((part) => part.ns), 1);
  const unknown = answer.classes.find((part) => part.name === "unclassified");
  return (
    <Panel
      title="Kernel time by class"
      hint={`${time(answer.kernel_ns / perStep.steps)}${perStep.words} · unclassified ${share(unknown?.ratio ?? 0)}`}
      isOld={isOld}
      controls={
        <>
          {canFill(shown, "speed_of_light") ? (
            <ViewLink stem="speed_of_light" params={{ group_by: "kernel" }}>
              Roofline
            </ViewLink>
          ) : null}
          <CopyTable label="the classes" table={() => classTable(answer.classes)} />
        </>
      }
    >
      <div className="class-bars">
        {answer.classes.map((part) => (
          <button
            key={part.name}
            type="button"
            className="class-bar"
            onClick={() => address.replace({ "kernels.group": "class" })}
          >
            <span className={part.name === "unclassified" ? "dim" : ""}>{part.name}</span>
            <span className="track">
              <i
                className={`k ${CATEGORY[part.name] ?? "compute"}`}
                style={{ width: `${(part.ns / most) * 100}%` }}
              />
            </span>
            <span className="num">{time(part.ns / perStep.steps)}</span>
            <span className="num dim">{share(part.ratio)}</span>
          </button>
        ))}
      </div>
    </Panel>
  );
}

/** From what is known to use them up to what may; a dash where nothing is known. */
function shareOfCores(used: number, unknown: number, candidates: number): string {
  if (candidates <= unknown) {
    return DASH;
  }
  const [least, most] = [share(used / candidates), share((used + unknown) / candidates)];
  return least === most ? least : `${least} to ${most}`;
}

/** Tensor or matrix cores, and copies with their rates. */
export function CopiesAndCores({ answer, isOld, perStep }: FiguresProps) {
  const { tensor_core, cores_name, kernel_ns, copies, definitions } = answer;
  const used = tensor_core["yes"] ?? 0;
  const unknown = tensor_core["unknown"] ?? 0;
  const candidates = kernel_ns - (tensor_core["none"] ?? 0);
  const part = (ns: number) => (candidates > 0 ? ns / candidates : 0);
  const { steps } = perStep;
  const compute = `${time(candidates / steps)}${perStep.words} of compute kernels`;
  return (
    <Panel title={`${cores_name} and copies`} isOld={isOld}>
      <div className="cores">
        <p>
          <Tip
            text={definitions["tensor_core_share"] ?? ""}
          >{`${cores_name.replace(" cores", "-core")} share`}</Tip>
          <b className="num">{shareOfCores(used, unknown, candidates)}</b>
        </p>
        <div className="track" aria-hidden="true">
          <i className="k compute" style={{ width: `${part(used) * 100}%` }} />
          <i className="k other" style={{ width: `${part(unknown) * 100}%`, opacity: 0.4 }} />
        </div>
        <p className="hint">
          {candidates <= 0
            ? "No compute kernel ran."
            : unknown > 0
              ? `of ${compute}; unknown for ${share(part(unknown))}`
              : `of ${compute}, known for all`}
        </p>
      </div>
      {copies.length === 0 ? (
        <p className="dim">No copy ran in the chosen steps.</p>
      ) : (
        <DeclaredTable
          label="the copies"
          heads={answer.copies_columns}
          rows={copies}
          perStep={perStep}
          keyOf={(row) => row.name}
          cells={{
            direction: (row) => (
              <span title={harmless(row.name)}>
                <Swatch category={/memset|fill/i.test(row.name) ? "memset" : "memcpy"} />{" "}
                <ViewLink stem="timeline" params={{ select: String(row.longest) }}>
                  {harmless(row.direction)}
                </ViewLink>
              </span>
            ),
          }}
        />
      )}
    </Panel>
  );
}

/** The table of kernels: grouped, searched, sorted, opened in place. */

const GROUPS: readonly (readonly [KernelGroupBy, string])[] = [
  ["name", "Kernel name"],
  ["properties", "Properties + operator"],
  ["class", "Class"],
  ["module", "Module"],
  ["line", "Your code"],
];

/** What groupings need of the recording. */
const NEEDS: Partial<Record<KernelGroupBy, string>> = {
  module: "modules",
  line: "stacks",
  graph: "graphs",
};

const ANEW = {
  "kernels.sort": undefined,
  "kernels.up": undefined,
  "kernels.row": undefined,
};

interface RowsProps {
  readonly answer: Kernels;
  readonly steps: string;
  readonly perStep: PerStep;
}

function KernelRows({ answer, steps, perStep }: RowsProps) {
  const address = useAddress();
  const values = useValues();
  const query: KernelQuery = {
    steps,
    group_by: (values["kernels.group"] ?? "name") as KernelGroupBy,
    search: values["kernels.search"] ?? "",
    search_op: values["kernels.op"] ?? "",
  };
  const set = (key: string, value: string) =>
    address.replace({ [`kernels.${key}`]: value === "" ? undefined : value });
  const none = query.group_by === "graph" ? answer.missing["graphs"] : undefined;
  return (
    <PartTable
      part="kernels/table"
      label="Kernels"
      head={none === undefined ? null : <p className="hint graphs-none">{none}</p>}
      stem="kernels"
      query={query}
      perStep={perStep}
      keyOf={(row) => row.key}
      cells={(rows) => cellsOf(rows, query)}
      filters={
        <>
          <Segmented
            label="Group by"
            options={[...GROUPS, ["graph", "Graph"] as const].map(([group, words]) => [
              group,
              words,
              answer.missing[NEEDS[group] ?? ""] ?? "",
            ])}
            value={query.group_by ?? "name"}
            onChange={(group) =>
              address.replace({
                "kernels.group": group === "name" ? undefined : group,
                // Graphs have columns and rows of their own.
                ...(group === "graph" || query.group_by === "graph" ? ANEW : {}),
              })
            }
          />
          {(
            [
              ["search", "Kernel name"],
              ["op", "Operator"],
            ] as const
          ).map(([key, words]) => (
            <SearchField
              key={key}
              words={words}
              label={`Filter by ${words.toLowerCase()}`}
              value={values[`kernels.${key}`] ?? ""}
              onChange={(text) => set(key, text)}
            />
          ))}
        </>
      }
      detail={(row) => <Details row={row} query={query} perStep={perStep} />}
      empty="No such kernel in the chosen steps."
    />
  );
}

/** What runs on the device, how well, and what launched it? */

adoptStyles(kernelsCss);

function Figures({ answer, isOld, steps }: { answer: Kernels; isOld: boolean; steps: string }) {
  const perStep = usePerStep(answer.table.step_count);
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      <div className="grid kernels-grid">
        <Classes answer={answer} isOld={isOld} perStep={perStep} />
        <Fill answer={answer} isOld={isOld} steps={perStep.steps} />
        <CopiesAndCores answer={answer} isOld={isOld} perStep={perStep} />
      </div>
      <KernelRows answer={answer} steps={steps} perStep={perStep} />
    </div>
  );
}

/** As many kernels as one answer holds; the chart says when there are more. */
const MOST_DRAWN = 1000;

export default function KernelsView() {
  const values = useValues();
  const steps = values["steps"] ?? "";
  const graph = values["kernels.graph"] ?? "";
  if (graph !== "") {
    return <GraphView graph={graph} steps={steps} />;
  }
  return (
    <ViewAnswer
      stem="kernels"
      query={{ steps, limit: MOST_DRAWN }}
      waiting={<Skeleton heights={[48, 240, 520]} />}
    >
      {(answer, isOld) => <Figures answer={answer} isOld={isOld} steps={steps} />}
    </ViewAnswer>
  );
}
