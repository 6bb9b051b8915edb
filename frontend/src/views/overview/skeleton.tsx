/** The shape of what comes, on a first load that takes long enough to be noticed. */
import { useLasting } from "../../state/timing";

export function Skeleton() {
  if (!useLasting(true)) {
    return null;
  }
  return (
    <div className="stack" aria-busy="true">
      <span className="unseen">Loading</span>
      <div className="skeleton" style={{ height: 56, maxWidth: 620 }} />
      <div className="skeleton" style={{ height: 148 }} />
      <div className="grid">
        <div className="skeleton span-6" style={{ height: 380 }} />
        <div className="skeleton span-6" style={{ height: 380 }} />
      </div>
    </div>
  );
}
