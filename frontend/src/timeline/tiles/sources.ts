/** What the timeline keeps of each of its sources. */
import type { TimelineSource } from "../contract";
import { NameTable } from "../names/name_table";
import { coarsestLevel } from "./grid";

export class SourceState {
  readonly names: NameTable;
  readonly coarsest: number;

  /** `names` of the same trace, if they are there already. */
  constructor(
    readonly source: TimelineSource,
    names = new NameTable(source.nameCount),
  ) {
    this.names = names;
    this.coarsest = coarsestLevel(source.endNs);
  }

  get id(): number {
    return this.source.source;
  }

  get offset(): number {
    return this.source.offset;
  }

  /** Whether what was fetched for this source holds for that one. */
  isSameTrace(other: TimelineSource): boolean {
    const { base, query, layout, startNs, endNs, nameCount } = this.source;
    return (
      base === other.base &&
      query === other.query &&
      layout === other.layout &&
      startNs === other.startNs &&
      endNs === other.endNs &&
      nameCount === other.nameCount
    );
  }
}
