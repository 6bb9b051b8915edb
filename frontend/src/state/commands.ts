/**
 * What the shown view can do, for the palette and for the list of keys. A view registers its commands
 * while it is mounted; the shell shows them beside its own.
 */
import { useEffect } from "react";
import { type Cell, cell, useCell } from "./cell";

export interface Command {
  readonly id: string;
  /** "Zoom to the selection". */
  readonly title: string;
  /** Headline in the list of keys: "Moving". */
  readonly group: string;
  /** As they are printed: "Shift N"; empty = only in the palette. */
  readonly keys: readonly string[];
  readonly run: () => void;
}

const registered: Cell<readonly Command[]> = cell<readonly Command[]>([]);

/** The commands of the shown view. */
export const useCommands = (): readonly Command[] => useCell(registered);

/** Registers commands while the calling component is mounted. */
export function useRegisterCommands(commands: readonly Command[]): void {
  useEffect(() => {
    registered.set(commands);
    return () => {
      registered.set([]);
    };
  }, [commands]);
}
