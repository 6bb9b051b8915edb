/** A small sign after a title: notes of Health touch these figures. */
import { ViewLink } from "../../components/view_link";

export function TaintMark({ taints }: { taints: readonly string[] }) {
  if (taints.length === 0) {
    return null;
  }
  return (
    <ViewLink
      stem="health"
      className="taint"
      title={`To keep in mind with these figures:\n${taints.join("\n")}`}
    >
      <span aria-hidden="true">△</span>
      <span className="unseen">Notes on these figures: {taints.join("; ")}</span>
    </ViewLink>
  );
}
