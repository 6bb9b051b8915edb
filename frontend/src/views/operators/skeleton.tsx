/** The shape of what comes. */
export function Skeleton() {
  return (
    <div className="stack" aria-hidden="true">
      <div className="skeleton" style={{ height: 48 }} />
      <div className="skeleton" style={{ height: 150 }} />
      <div className="skeleton" style={{ height: 520 }} />
    </div>
  );
}
