/** By what calls are grouped; what this recording cannot fill says what to record. */
import type { GroupBy, OperatorQuery, Operators } from "../../api/types.gen";

const GROUPS: readonly (readonly [GroupBy, string])[] = [
  ["name", "Operator"],
  ["shape", "+ input shape"],
  ["module", "Module"],
  ["annotation", "Annotation"],
  ["thread", "Thread"],
  ["stack", "Stack"],
];
const DEPTHS = [1, 2, 3, 5, 8, 12, 20, 64];

interface GroupMenuProps {
  readonly answer: Operators;
  readonly query: OperatorQuery;
  readonly onChange: (key: string, value: string) => void;
}

export function GroupMenu({ answer, query, onChange }: GroupMenuProps) {
  return (
    <>
      <div className="seg" role="radiogroup" aria-label="Group by">
        {GROUPS.map(([group, words]) => {
          const missing = answer.groupings[group] ?? "";
          return (
            <label key={group} title={missing} className={missing === "" ? "" : "off"}>
              <input
                type="radio"
                name="operators-group"
                checked={query.group_by === group}
                disabled={missing !== ""}
                onChange={() => onChange("group", group === "name" ? "" : group)}
              />
              {words}
            </label>
          );
        })}
      </div>
      {query.group_by === "stack" ? (
        <select
          aria-label="Innermost frames that tell stacks apart"
          className="btn small"
          value={query.stack_depth ?? 5}
          onChange={(event) => onChange("depth", event.target.value)}
        >
          {DEPTHS.map((depth) => (
            <option key={depth} value={depth}>
              {depth === 1 ? "1 frame" : `${depth} frames`}
            </option>
          ))}
        </select>
      ) : null}
    </>
  );
}
