/** What was read, what is missing, and how to record it better; and each file seen, with its verdict. */
import { toProblem } from "../api/problem";
import type { Health as Answer } from "../api/types.gen";
import { plural } from "../base/format";
import { adoptStyles } from "../base/styles";
import { CopyButton } from "../components/copy_button";
import { Hero } from "../components/hero";
import { Panel } from "../components/panel";
import { ProblemNote } from "../components/problem_note";
import { plainText, Snippet } from "../components/snippet";
import { ViewReading } from "../components/view_reading";
import { usePage } from "../state/page_context";
import { useView } from "../state/queries";
import { Answers } from "./health/answers";
import { Counts } from "./health/counts";
import { Files } from "./health/files";
import healthCss from "./health/health.css?inline";
import { Notes } from "./health/notes";
import { UserValues } from "./health/user_values";

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
          <Counts counts={health.counts} recording={health.recording} isOld={isOld} />
          <UserValues values={health.user} more={health.user_more} isOld={isOld} />
        </div>
        <div className="span-6 stack">
          <Panel
            title="Record it better"
            hint={
              added === 0
                ? "this recording has it all"
                : `${plural(added, "line")} to add for what is missing`
            }
            isOld={isOld}
            controls={<CopyButton className="small" text={() => plainText(health.snippet)} />}
          >
            <Snippet lines={health.snippet} hasCopy={false} />
          </Panel>
          <Answers answers={health.answers} isOld={isOld} />
        </div>
      </div>
    </>
  );
}

/** The part about the chosen trace; nothing where none is chosen or read yet. */
function Trace() {
  const { data, isOld, reading, problem, again } = useView("health", {});
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (reading !== null) {
    return <ViewReading progress={reading} />;
  }
  return data === undefined ? null : <Recording health={data} isOld={isOld} />;
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
