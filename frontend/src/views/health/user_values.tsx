/** What the user added to the file: `add_metadata`, `add_metadata_json`. Always text. */
import type { UserValue } from "../../api/types.gen";
import { plural } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { CopyTable } from "../../components/copy_table";
import { Panel } from "../../components/panel";

interface UserValuesProps {
  readonly values: readonly UserValue[];
  /** Values that are in the file beyond those. */
  readonly more: number;
  readonly isOld: boolean;
}

/** A short value stands there whole; a long one opens. */
const SHOWN_MAX = 160;

const moreWords = (characters: number) =>
  characters === 0 ? null : (
    <span className="dim"> … {plural(characters, "character")} more in the file</span>
  );

function Value({ text, more }: Pick<UserValue, "text" | "more">) {
  const shown = harmless(text, Number.POSITIVE_INFINITY);
  if (shown.length <= SHOWN_MAX) {
    return (
      <bdi>
        {shown === "" ? <span className="dim">(empty)</span> : shown}
        {moreWords(more)}
      </bdi>
    );
  }
  return (
    <details>
      <summary>
        <bdi>{shown.slice(0, SHOWN_MAX)}</bdi>
        <span className="dim"> … {plural(shown.length - SHOWN_MAX + more, "character")} more</span>
      </summary>
      <bdi>{shown}</bdi>
      {moreWords(more)}
    </details>
  );
}

const toTable = (values: readonly UserValue[]) => ({
  header: ["key", "value"],
  rows: values.map(({ key, text }) => [key, text]),
});

export function UserValues({ values, more, isOld }: UserValuesProps) {
  if (values.length === 0) {
    return null;
  }
  return (
    <Panel
      title="Added by you"
      hint="what add_metadata() and add_metadata_json() wrote into the file"
      isOld={isOld}
      controls={<CopyTable label="what was added" table={() => toTable(values)} />}
    >
      <dl className="counts recording user-values">
        {values.map((value) => (
          <div key={value.key}>
            <dt>
              <bdi>{harmless(value.key)}</bdi>
            </dt>
            <dd>
              <Value text={value.text} more={value.more} />
            </dd>
          </div>
        ))}
      </dl>
      {more > 0 ? <p className="dim">{plural(more, "key")} more in the file.</p> : null}
    </Panel>
  );
}
