/** A row of the changes, opened: every figure of both, and the ways to where they come from. */
import type { DiffGroup, DiffQuery, DiffRow } from "../../api/types.gen";
import { ViewLink } from "../../components/controls/view_link";
import { Heading } from "../../components/data_table/heading";
import { CodeName } from "../../components/text/code_name";
import { usePage } from "../../state/page_context";
import { amount, changed, METRIC_WORDS, percent } from "./figures";

interface SideProps {
  readonly tag: "A" | "B";
  readonly name: string;
  readonly group: DiffGroup;
  readonly place: Readonly<Record<string, string>>;
}

/** One recording's own view of it. */
function Side({ tag, name, group, place }: SideProps) {
  const { titles } = usePage();
  return (
    <li className="diff-door-row">
      <span className={tag === "A" ? "diff-tag" : "diff-tag other"}>{tag}</span>
      {name === "" ? (
        <span className="dim">It did not run there.</span>
      ) : (
        <div>
          <CodeName name={name} />
          <ViewLink stem={group} params={{ ...place, search: name }} className="link nowrap">
            {tag} in {titles.get(group) ?? group}
          </ViewLink>
          {group === "memory" ? null : (
            <ViewLink stem="timeline" params={{ ...place, find: name }} className="link nowrap">
              {tag} in Trace
            </ViewLink>
          )}
        </div>
      )}
    </li>
  );
}

interface RowDetailsProps {
  readonly row: DiffRow;
  readonly group: DiffGroup;
  readonly query: DiffQuery;
}

export function RowDetails({ row, group, query }: RowDetailsProps) {
  const { shown } = usePage();
  const figures = Object.entries(row.sums).filter(
    ([metric, [a, b]]) => metric in METRIC_WORDS && (a !== 0 || b !== 0),
  );
  // A role or a family has no name of its own in the other views: its heaviest kernel has.
  const base = row.base_kernel || row.name;
  const other = row.other_kernel || row.other_name || row.name;
  return (
    <div className="diff-details">
      <ul>
        <Side
          tag="A"
          name={row.base_calls > 0 ? base : ""}
          group={group}
          place={{
            run: query.base_run ?? "",
            worker: query.base_worker ?? "",
            span: query.base_span ?? "",
            steps: query.base_steps ?? "",
            device: "",
          }}
        />
        <Side
          tag="B"
          name={row.other_calls > 0 ? other : ""}
          group={group}
          place={{ ...shown?.key, steps: query.steps ?? "" }}
        />
      </ul>
      {/* Its rows are the metrics of one row: a table across, which no answer declares. */}
      <table className="plain">
        <thead>
          <tr>
            <Heading help="Each figure of the row, mean of the steps.">Per step</Heading>
            <Heading help="In A, the base." className="num">
              A
            </Heading>
            <Heading help="In B." className="num">
              B
            </Heading>
            <Heading help="B less A." className="num">
              Change
            </Heading>
            <Heading help="The change, of A." className="num">
              %
            </Heading>
          </tr>
        </thead>
        <tbody>
          {figures.map(([metric, [a, b]]) => (
            <tr key={metric}>
              <td>{METRIC_WORDS[metric]}</td>
              <td className="num">{amount(metric)(a)}</td>
              <td className="num">{amount(metric)(b)}</td>
              <td className="num">{changed(b - a, metric)}</td>
              <td className="num">{percent(a, b)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
