/** What ran when, on every thread and stream? */
import { useEffect, useMemo } from "react";
import { toProblem } from "../api/problem";
import { adoptStyles } from "../base/styles";
import { ProblemNote } from "../components/problem_note";
import { warmUp } from "../timeline/tiles/worker_loader";
import { useLink } from "./timeline/link_state";
import { Opened } from "./timeline/opened";
import panelsCss from "./timeline/panels.css?inline";
import { Preparing, Skeleton } from "./timeline/preparing";
import { useManifest, useOthers } from "./timeline/recordings";
import { align, type Recording } from "./timeline/sources";
import timelineCss from "./timeline/timeline.css?inline";
import { useList } from "./timeline/use_list";

adoptStyles(timelineCss);
adoptStyles(panelsCss);

function Recorded({ recording }: { recording: Recording }) {
  const [link] = useLink();
  const { recordings, awaited } = useOthers(link.workers, recording.manifest.layout);
  const manifests = useList(recordings.map(({ manifest }) => manifest));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list each time, of the same manifests
  const aligned = useMemo(
    () => align(recording, recordings, link.alignment),
    [recording.manifest, manifests, link.alignment],
  );
  return <Opened aligned={aligned} awaited={awaited} />;
}

export default function Timeline() {
  const [link] = useLink();
  useEffect(warmUp, []);
  const { recording, progress, problem, again } = useManifest(link.layout);
  if (recording !== null) {
    // Another file is another timeline: nothing of the one before it stays.
    return <Recorded key={recording.digest} recording={recording} />;
  }
  if (problem !== null) {
    return (
      <section className="tl-refused">
        <h1>The timeline cannot be shown</h1>
        <ProblemNote problem={toProblem(problem)} again={again} />
      </section>
    );
  }
  return progress === null ? <Skeleton /> : <Preparing progress={progress} />;
}
