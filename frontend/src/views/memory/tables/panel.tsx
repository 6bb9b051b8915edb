/** The blocks with an end in the chosen range, and what each op allocated over it. */
import { useId, useState } from "react";
import type { Memory, MemoryCategory } from "../../../api/types.gen";
import { bytes, plural, time } from "../../../base/text/format";
import { SearchField } from "../../../components/controls/search_field";
import { Segmented } from "../../../components/controls/segmented";
import { Select } from "../../../components/controls/select";
import { PartTable } from "../../../components/data_table/part_table";
import { Panel } from "../../../components/states/panel";
import { Prose } from "../../../components/text/prose";
import type { Cell } from "../../../state/cell";
import { useValues } from "../../../state/host/environment";
import { scopeOf, type useChoice } from "../choice";
import { isCategory } from "../colors";
import { stepsOfRange } from "../curve/frame";
import type { Life } from "../curve/paint";
import { Block } from "./block";
import { eventCells, statisticsCells } from "./cells";
import { parseBytes } from "./sizes";

interface SizeFieldProps {
  readonly label: string;
  readonly sign: string;
  /** Bytes as digits; "" = no limit. */
  readonly value: string;
  readonly onChange: (bytes: string) => void;
}

const shown = (value: string) => (/^\d+$/.test(value) ? exactSize(Number(value)) : "");

/** A size that means the same when it is typed again. */
export function exactSize(size: number): string {
  const words = bytes(size).replaceAll("\u00a0", " ");
  return parseBytes(words) === size ? words : String(size);
}

/** A limit of sizes; what is no size is kept, marked, and limits nothing. */
function SizeField({ label, sign, value, onChange }: SizeFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? shown(value);
  const isWrong = text.trim() !== "" && parseBytes(text) === null;
  return (
    <label className="row mem-size">
      <span className="label nowrap">{sign}</span>
      <span className="input small">
        <input
          aria-label={label}
          aria-invalid={isWrong}
          placeholder="10 MiB"
          title={isWrong ? "Not a size: write 4096, 512 KiB, 10 MiB or 1.5 GiB." : label}
          value={text}
          spellCheck={false}
          onChange={(event) => {
            const next = event.target.value;
            setTyped(next);
            const size = parseBytes(next);
            if (size !== null || next.trim() === "") {
              onChange(size === null ? "" : String(size));
            }
          }}
          onBlur={() => setTyped(isWrong ? text : null)}
        />
      </span>
    </label>
  );
}

interface TablesProps {
  readonly answer: Memory;
  readonly choice: ReturnType<typeof useChoice>;
  readonly life: Cell<Life | null>;
  readonly noBlocks: string;
}

type Tab = "events" | "operators";

interface HeadProps extends TablesProps {
  readonly tab: Tab;
  readonly note: string;
}

function Head({ answer, choice, noBlocks, tab, note }: HeadProps) {
  const id = useId();
  const { range } = choice;
  const steps = range === null ? "" : stepsOfRange(answer.steps, range);
  const isAll = answer.start_ns === 0 && answer.end_ns === answer.recording_end_ns;
  return (
    <header>
      <h2 id={id}>
        {range === null
          ? isAll
            ? "In the recording"
            : "In the chosen steps"
          : "In the chosen range"}
      </h2>
      <span className="hint">
        {[range === null ? "" : `${time(range.start)}–${time(range.end)}`, steps, note]
          .filter((text) => text !== "")
          .join(" · ")}
      </span>
      <span className="grow" />
      <Segmented
        label="Rows"
        options={[
          ["events", "Events", noBlocks],
          ["operators", answer.is_snapshot ? "By line" : "By operator"],
        ]}
        value={tab}
        onChange={(next) => choice.set("tab", next === "events" ? "" : next)}
      />
    </header>
  );
}

const BY_SIZE = { key: "bytes", isDown: true };
const BY_INCREASE = { key: "self_increase_bytes", isDown: true };

function NameField({ search, answer, choice }: { search: string } & Omit<TablesProps, "life">) {
  return (
    <SearchField
      words={answer.is_snapshot ? "Filter by line" : "Filter by operator"}
      value={search}
      onChange={(text) => choice.set("search", text)}
    />
  );
}

function Operators(props: TablesProps) {
  const { answer, choice, noBlocks } = props;
  const search = useValues()["memory.search"] ?? "";
  const { allocation_bytes: total } = answer.statistics;
  const note = choice.range === null ? `${bytes(total)} allocated, releases aside` : "";
  return (
    <PartTable
      part="memory/statistics"
      label={answer.is_snapshot ? "Memory by line of code" : "Memory by operator"}
      stem="memory.op"
      head={
        <>
          <Head {...props} tab="operators" note={note} />
          {noBlocks === "" ? null : (
            <p className="hint mem-none">
              Events are not available. <Prose text={noBlocks} />
            </p>
          )}
        </>
      }
      query={{ ...scopeOf(answer, choice.range), search }}
      keyOf={(row) => row.name}
      usualSorting={BY_INCREASE}
      cells={() => statisticsCells(answer.is_snapshot)}
      filters={<NameField {...props} search={search} />}
      empty={
        search === ""
          ? "Nothing was allocated or released in this range."
          : "No such name in this range."
      }
    />
  );
}

/** What the address narrows the events to. */
function useFilters() {
  const values = useValues();
  const [least, most] = [values["memory.min"] ?? "", values["memory.max"] ?? ""];
  const category = values["memory.category"] ?? "";
  const search = values["memory.search"] ?? "";
  return {
    search,
    least,
    most,
    category: isCategory(category) ? category : ("" as const),
    isUsed: [search, category, least, most].some((text) => text !== ""),
    query: {
      search,
      ...(/^\d{1,15}$/.test(least) ? { min_bytes: Number(least) } : {}),
      ...(/^\d{1,15}$/.test(most) ? { max_bytes: Number(most) } : {}),
      ...(isCategory(category) ? { category } : {}),
    },
  };
}

/** What stands in the table without rows: the filters, or the range, may hide them. */
function nothingWords({ events }: Memory, hasRange: boolean, isFiltered: boolean): string {
  const others = plural(events.count, "block");
  return isFiltered
    ? `No such block begins or ends here; ${others} without the filters${hasRange ? " and the range" : ""}.`
    : `No block begins or ends here${hasRange ? `; ${others} without the range` : ""}.`;
}

function Events(props: TablesProps) {
  const { answer, choice, life } = props;
  const filters = useFilters();
  const scope = scopeOf(answer, choice.range);
  const range = { start: scope.start_ns, end: scope.end_ns };
  return (
    <PartTable
      part="memory/events"
      label="Memory events"
      stem="memory"
      head={<Head {...props} tab="events" note="point at a row to see its lifetime above" />}
      query={{ ...scope, ...filters.query }}
      keyOf={(row) => String(row.block)}
      usualSorting={BY_SIZE}
      cells={(rows) => eventCells(rows, range, answer)}
      filters={
        <>
          <NameField {...props} search={filters.search} />
          <SizeField
            label="Smallest size"
            sign="size ≥"
            value={filters.least}
            onChange={(size) => choice.set("min", size)}
          />
          <SizeField
            label="Largest size"
            sign="≤"
            value={filters.most}
            onChange={(size) => choice.set("max", size)}
          />
          <Select
            label="Category"
            options={[
              ["", "All categories"] as const,
              ...Object.entries(answer.categories).map(
                ([key, label]) => [key as MemoryCategory, label] as const,
              ),
            ]}
            value={filters.category}
            onChange={(next) => choice.set("category", next)}
          />
        </>
      }
      detail={(row) => <Block block={row.block} />}
      onPoint={(row) =>
        life.set(row === null ? null : { start: row.life_start_ns, end: row.life_end_ns })
      }
      empty={nothingWords(answer, choice.range !== null, filters.isUsed)}
    />
  );
}

export function Tables(props: TablesProps) {
  const isByOperator = useValues()["memory.tab"] === "operators";
  const missing = props.answer.missing["blocks"] ?? "";
  if (missing !== "") {
    return (
      <Panel title="In the recording">
        <p className="ink2">
          Events and operators are not available. <Prose text={missing} />
        </p>
      </Panel>
    );
  }
  return props.noBlocks !== "" || isByOperator ? <Operators {...props} /> : <Events {...props} />;
}
