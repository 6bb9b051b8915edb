/** Keeps a fault of one part inside that part. */
import { Component, type ReactNode } from "react";
import { type Problem, toProblem } from "../../api/problem";
import { ProblemNote } from "./problem_note";

interface BoundaryProps {
  readonly children: ReactNode;
}

interface BoundaryState {
  readonly problem: Problem | null;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { problem: null };

  static getDerivedStateFromError(thrown: unknown): BoundaryState {
    return { problem: toProblem(thrown) };
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === null) {
      return this.props.children;
    }
    return <ProblemNote problem={problem} again={() => this.setState({ problem: null })} />;
  }
}
