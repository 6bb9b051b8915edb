/** What the flame graph says as lists: the alternative for people who cannot see it, and the sandwich. */
import type { Flame, FlameNode, SandwichQuery } from "../../api/types.gen";
import { CellBar } from "../../components/charts/cell_bar";
import { Heading } from "../../components/data_table/heading";
import { subtree } from "../../components/flame_graph/layout";
import { FirstFew } from "../../components/states/first_few";
import { CodeName } from "../../components/text/code_name";
import { type Asked, usePart } from "../../state/parts";

const FIRST = 12;
type Words = (value: number) => string;

interface Row {
  readonly name: string;
  readonly short: string;
  readonly value: number;
}

function List({
  title,
  hint,
  head,
  help,
  rows,
  words,
  onPick,
}: {
  readonly title: string;
  readonly hint: string;
  /** The heading of the values, and what they are. */
  readonly head: string;
  readonly help: string;
  readonly rows: readonly Row[];
  readonly words: Words;
  readonly onPick?: (name: string) => void;
}) {
  const most = rows[0]?.value ?? 0;
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="dim">{hint}</span>
      </h3>
      {rows.length === 0 ? <p className="dim">None.</p> : null}
      <FirstFew items={rows} most={FIRST}>
        {(shown) => (
          <table className="plain">
            <thead>
              <tr>
                <Heading help="A function, operator or annotation; of one name, all together.">
                  Name
                </Heading>
                <Heading help={help} className="num wide">
                  {head}
                </Heading>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.name}>
                  <td className="name clip">
                    {onPick === undefined ? (
                      <CodeName name={row.name} short={row.short} />
                    ) : (
                      <button type="button" className="link" onClick={() => onPick(row.name)}>
                        <CodeName name={row.name} short={row.short} />
                      </button>
                    )}
                  </td>
                  <td className="num wide">
                    <CellBar value={row.value} most={most} category="cpu">
                      {words(row.value)}
                    </CellBar>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </FirstFew>
    </section>
  );
}

/** Sums by name, the largest first. */
export function byName(
  boxes: readonly FlameNode[],
  value: (box: FlameNode) => number,
): readonly Row[] {
  const sums = new Map<string, number>();
  const short = new Map(boxes.map((box) => [box.name, box.short || box.name]));
  for (const box of boxes) {
    const own = value(box);
    if (own > 0) {
      sums.set(box.name, (sums.get(box.name) ?? 0) + own);
    }
  }
  return [...sums]
    .map(([name, sum]) => ({ name, short: short.get(name) ?? name, value: sum }))
    .sort((a, b) => b.value - a.value);
}

/** Of the boxes below the focus; of all where none is zoomed to. */
export function HeaviestBoxes({
  flame,
  focus,
  words,
  onPick,
}: {
  readonly flame: Flame;
  readonly focus: number | null;
  readonly words: Words;
  readonly onPick: (name: string) => void;
}) {
  const { nodes } = flame;
  const root = focus === null ? -1 : nodes.findIndex(({ node }) => node === focus);
  const inside = root < 0 ? nodes : subtree(nodes, root).flatMap((at) => nodes[at] ?? []);
  const rows = byName(
    inside.filter((box) => box.node >= 0),
    (box) => box.self_value,
  );
  return (
    <List
      title="Heaviest"
      hint="by self value"
      head="Own"
      help="Its self value, without the calls inside it, summed over the graph."
      rows={rows}
      words={words}
      onPick={onPick}
    />
  );
}

export function SandwichLists({
  asked,
  query,
  words,
}: {
  readonly asked: Asked;
  readonly query: SandwichQuery;
  readonly words: Words;
}) {
  const { data } = usePart("operators/around", asked, query, true);
  if (data === undefined) {
    return <p className="dim">…</p>;
  }
  const below = (boxes: readonly FlameNode[]) =>
    byName(
      boxes.filter((box) => box.parent === 0),
      (box) => box.value,
    );
  return (
    <>
      <List
        title="Callers"
        hint={`of ${data.name}`}
        head="Total"
        help="The value of the calls that came from it."
        rows={below(data.callers)}
        words={words}
      />
      <List
        title="Callees"
        hint={`of ${data.name}`}
        head="Total"
        help="The value of the calls inside it."
        rows={below(data.callees)}
        words={words}
      />
    </>
  );
}
