import type { Health as Answer, Answerable, Count, UserValue } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { plainTable } from "../../base/text/delimited";
import { fixed, plural } from "../../base/text/format";
import { sum } from "../../base/text/rounding";
import { harmless } from "../../base/text/shown_name";
import { CopyButton } from "../../components/controls/copy_button";
import { CopyTable } from "../../components/controls/copy_table";
import { ViewLink } from "../../components/controls/view_link";
import { DeclaredTable, declaredToPlain } from "../../components/data_table/declared";
import { Tip } from "../../components/overlays/tip";
import { ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Hero } from "../../components/text/hero";
import { Prose } from "../../components/text/prose";
import { plainText, Snippet } from "../../components/text/snippet";
import { canFill, usePage } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import { Files } from "./files";
import healthCss from "./health.css?inline";
import { Notes } from "./notes";

/** Which questions this recording answers, by what it has and lacks. */

const SIGNS: Readonly<Record<Answerable["answer"], readonly [string, string]>> = {
  yes: ["yes", "●"],
  "in part": ["part", "◐"],
  no: ["no", "○"],
};

export function Answers({ health, isOld }: { health: Answer; isOld: boolean }) {
  const prose = (text: string) => (
    <span className="dim">
      <Prose text={text} />
    </span>
  );
  return (
    <Panel title="What this recording answers" isOld={isOld}>
      <DeclaredTable
        label="what this recording answers"
        heads={health.answers_columns}
        rows={health.answers}
        keyOf={({ question }) => question}
        cells={{
          has: ({ has }) => prose(has),
          lacks: ({ lacks }) => prose(lacks),
          answer: ({ answer }) => {
            const [className, sign] = SIGNS[answer];
            return (
              <span className={`${className} nowrap`}>
                <span aria-hidden="true">{sign}</span> {answer}
              </span>
            );
          },
        }}
      />
    </Panel>
  );
}

/** What was read, kind by kind, and what the file says about itself. */

/** What is longer needs the width of two. */
const LINE_MAX = 24;

export function Counts({ health, isOld }: { health: Answer; isOld: boolean }) {
  const { counts, counts_columns, recording } = health;
  const { info } = usePage();
  const total = sum(counts.map(({ count }) => count));
  return (
    <Panel
      title="What was read"
      hint={`${fixed(total, 0)} ${total === 1 ? "event" : "events"}, each in one row`}
      isOld={isOld}
      controls={
        <CopyTable
          label="the counts"
          table={() => declaredToPlain<Count>(counts_columns)(counts)}
        />
      }
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
        <div className="wide">
          <dt>Read by</dt>
          <dd>
            kinetoscope {info.release}, {info.reader} reader
          </dd>
        </div>
        {Object.entries(recording).map(([label, value]) => (
          <div key={label} className={value.length > LINE_MAX ? "wide" : undefined}>
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

/** What the user added to the file: `add_metadata`, `add_metadata_json`. Always text. */

interface UserValuesProps {
  readonly values: readonly UserValue[];
  /** Values that are in the file beyond those. */
  readonly more: number;
  /** Whether torch.profiler wrote the file. */
  readonly isOfTorch: boolean;
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
        <bdi>
          {shown.slice(0, SHOWN_MAX)}
          <span className="dim">
            {" "}
            … {plural(shown.length - SHOWN_MAX + more, "character")} more
          </span>
        </bdi>
      </summary>
      <bdi>
        {shown}
        {moreWords(more)}
      </bdi>
    </details>
  );
}

// What the user added is a fact of the trace, without heads; the copy has two columns.
const valuesTable = plainTable<UserValue>(["key", ["value", ({ text }) => text]]);

export function UserValues({ values, more, isOfTorch, isOld }: UserValuesProps) {
  if (values.length === 0) {
    return null;
  }
  return (
    <Panel
      title={isOfTorch ? "Added by you" : "Also in the file"}
      hint={isOfTorch ? "what add_metadata() and add_metadata_json() wrote into the file" : ""}
      isOld={isOld}
      controls={<CopyTable label="what was added" table={() => valuesTable(values)} />}
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

/** What was read, what is missing, and how to record it better; and each file seen, with its verdict. */

/** Kernel time that speed of light refuses, by reason. */
function WithoutFigure({ isOld }: { isOld: boolean }) {
  const { shown } = usePage();
  const query = canFill(shown, "speed_of_light") ? {} : null;
  const { data } = usePart("speed_of_light/summary", useAsked(), query);
  if (data === undefined || data.reasons.length === 0) {
    return null;
  }
  return (
    <Panel
      title="Kernel time without a figure"
      hint={<ViewLink stem="speed_of_light">Speed of light</ViewLink>}
      isOld={isOld}
    >
      <DeclaredTable
        label="kernel time without a figure"
        heads={data.reasons_columns}
        rows={data.reasons}
        keyOf={({ reason }) => reason}
      />
    </Panel>
  );
}

adoptStyles(healthCss);

function Recording({ health, isOld }: { health: Answer; isOld: boolean }) {
  const { headline, detail } = health.sentence;
  const added = health.snippet.filter((line) => line.added).length;
  return (
    <>
      <Hero headline={headline} detail={detail} />
      <div className="grid">
        <div className="span-6 stack">
          <Notes notes={health.notes} isOld={isOld} />
          <Counts health={health} isOld={isOld} />
          <UserValues
            values={health.user}
            more={health.user_more}
            isOfTorch={health.snippet.length > 0}
            isOld={isOld}
          />
        </div>
        <div className="span-6 stack">
          {health.snippet.length === 0 ? null : (
            <Panel
              title="Record it better"
              hint={
                added === 0
                  ? "this recording did all of it"
                  : `${plural(added, "line")} to add for what is missing`
              }
              isOld={isOld}
              controls={<CopyButton className="small" text={() => plainText(health.snippet)} />}
            >
              <Snippet lines={health.snippet} hasCopy={false} />
            </Panel>
          )}
          <Answers health={health} isOld={isOld} />
          <WithoutFigure isOld={isOld} />
        </div>
      </div>
    </>
  );
}

/** The part about the chosen trace; nothing where none is chosen or read yet. */
function Trace() {
  return (
    <ViewAnswer stem="health" query={{}} waiting="">
      {(health, isOld) => <Recording health={health} isOld={isOld} />}
    </ViewAnswer>
  );
}

/** The sentence where no trace can be spoken of. */
function FilesOnly() {
  const { catalog } = usePage();
  const used = catalog.files.filter((file) => file.state === "ready").length;
  const total = plural(catalog.files_total, "file");
  return (
    <section className="hero">
      <h1>
        {catalog.files_total === 0
          ? "No file was seen in the logdirs yet."
          : `${total} seen, ${used === 0 ? "none" : used} in use.`}
      </h1>
      <p className="prose">
        {catalog.logdirs.map((logdir) => (
          <code key={logdir}>{logdir} </code>
        ))}
        {catalog.runs.length === 0
          ? "Nothing here can be shown as a run. Each file is listed with the reason."
          : "The chosen trace is not read. Each file is listed with its verdict."}
      </p>
    </section>
  );
}

export default function Health() {
  const { catalog, shown } = usePage();
  const hasTrace = shown !== null && shown.digest !== "";
  return (
    <>
      {hasTrace ? <Trace /> : <FilesOnly />}
      <Files catalog={catalog} />
    </>
  );
}
