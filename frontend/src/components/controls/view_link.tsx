/** A link to a view of this page, with what should be chosen there. */
import type { MouseEvent, ReactNode } from "react";
import { useEnvironment } from "../../state/host/environment";
import type { Patch } from "../../state/location/fragment";
import { globalKeys } from "../../state/location/values";

interface ViewLinkProps {
  readonly stem: string;
  /** Steps, device and the like; what only the view knows gets the view's name before it. */
  readonly params?: Readonly<Record<string, string>>;
  readonly className?: string;
  readonly title?: string;
  readonly isCurrent?: boolean;
  readonly children: ReactNode;
}

/** A link to a place in the trace leads there alone: where the view was before is forgotten. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  timeline: ["at", "y", "select", "area", "find", "match"],
};

export function viewPatch(stem: string, params: Readonly<Record<string, string>> = {}): Patch {
  const own = (key: string) => (globalKeys.has(key) ? key : `${stem}.${key}`);
  const isPlace = Object.keys(params).length > 0;
  const forgotten = isPlace ? (PLACES[stem] ?? []).map((key) => [own(key), undefined]) : [];
  const entries = Object.entries(params).map(([key, value]) => [own(key), value]);
  return { view: stem, ...Object.fromEntries([...forgotten, ...entries]) };
}

/** A plain press; with a modifier the browser opens a tab of its own. */
const isPlain = (event: MouseEvent) =>
  event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

export function ViewLink({ stem, params, className, title, isCurrent, children }: ViewLinkProps) {
  const { address } = useEnvironment();
  const patch = viewPatch(stem, params);
  return (
    <a
      href={address.href(patch)}
      className={className}
      title={title}
      aria-current={isCurrent === true ? "page" : undefined}
      onClick={(event) => {
        if (isPlain(event)) {
          event.preventDefault();
          address.navigate(patch);
        }
      }}
    >
      {children}
    </a>
  );
}
