/** The views as tabs, in the order of the server's registry. */
import type { TraceInfo, ViewInfo } from "../api/types.gen";
import { ViewLink } from "../components/view_link";

interface TabsProps {
  readonly views: readonly ViewInfo[];
  readonly current: string;
  readonly trace: TraceInfo | null;
}

export function Tabs({ views, current, trace }: TabsProps) {
  return (
    <nav className="tabs" aria-label="Views">
      {views.map(({ stem, title, key, question }) => {
        const state = trace?.views.find((candidate) => candidate.stem === stem);
        const reason = state?.unavailable ?? null;
        const badge = state?.badge ?? null;
        return (
          <ViewLink
            key={stem}
            stem={stem}
            className={reason === null ? "tab" : "tab na"}
            isCurrent={stem === current}
            title={reason ?? `${question} (g ${key})`}
          >
            {title}
            {reason !== null ? <sup>n/a</sup> : null}
            {reason === null && badge !== null && badge > 0 ? <sup>{badge}</sup> : null}
          </ViewLink>
        );
      })}
    </nav>
  );
}
