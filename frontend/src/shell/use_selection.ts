/** The chosen trace: what the address says, what the catalog has, and which content of it is shown. */
import { useEffect } from "react";
import type { Answer } from "../api/client";
import type { Catalog, TraceInfo } from "../api/types.gen";
import { currentParameter } from "../base/steps";
import { type Choice, choiceValues, type Resolved, resolveChoice } from "../state/choice";
import { useAddress, useValues } from "../state/environment";
import type { Shown } from "../state/page_context";
import { type Pinned, usePinned } from "../state/pinned";
import { useTrace } from "../state/queries";

export interface Selection {
  readonly resolved: Resolved;
  readonly choice: Choice | null;
  readonly pinned: Pinned;
  readonly shown: Shown | null;
  readonly trace: Answer<TraceInfo> | undefined;
  /** Whether it is still to be seen which steps the address means. */
  readonly isSettling: boolean;
  readonly problem: Error | null;
  readonly again: () => void;
}

/** The content of a span as the catalog knows it; "" while there is nothing to show. */
function digestOf(choice: Choice | null): string {
  if (choice === null) {
    return "";
  }
  const { digest, state } = choice.span;
  return state === "ready" ? digest : "";
}

export function useSelection(catalog: Catalog): Selection {
  const address = useAddress();
  const values = useValues();
  const resolved = resolveChoice(catalog, values);
  const choice = resolved.state === "chosen" ? resolved.choice : null;
  const isSettled = choice !== null && (!catalog.scanning || choice.span.state === "ready");

  // What the page chose by itself is written down, so that a newer run does not take its place.
  useEffect(() => {
    if (choice !== null && isSettled) {
      address.replace(choiceValues(choice));
    }
  }, [address, choice, isSettled]);

  const key =
    choice === null
      ? null
      : { run: choice.run.name, worker: choice.worker.name, span: choice.span.key };
  const { view, steps, device } = values;
  const pinned = usePinned(JSON.stringify([key, view, steps, device]), digestOf(choice));
  const isReadable = choice !== null && !["refused", "failed"].includes(choice.span.state);
  const isAsked = isReadable || pinned.digest !== "";
  const { data: trace, error, refetch } = useTrace(isAsked ? key : null, pinned.digest);
  const info = trace?.state === "ready" ? trace.data : null;
  const current =
    steps === undefined || info === null ? steps : currentParameter(info.steps, steps);
  useEffect(() => {
    if (current !== steps) {
      address.replace({ steps: current });
    }
  }, [address, current, steps]);
  return {
    resolved,
    choice,
    pinned,
    shown: key === null ? null : { key, digest: pinned.digest, trace: info },
    trace,
    isSettling: error === null && steps !== undefined && (info === null || current !== steps),
    problem: error,
    again: () => {
      refetch();
    },
  };
}
