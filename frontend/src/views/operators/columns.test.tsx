import { describe, expect, it } from "vitest";
import type { Operators } from "../../api/types.gen";
import { columnsOf, scalesOf } from "./columns";
import { USUALLY_HIDDEN } from "./table_view";

const answerOf = (over: Partial<Operators>) =>
  ({ definitions: {}, device_ns: null, flops_coverage: null, ...over }) as Operators;

/** The columns of a table that nobody has changed. */
const shownIn = (over: Partial<Operators>) =>
  columnsOf(answerOf(over), scalesOf([]), { group_by: "name" })
    .map(({ key }) => key)
    .filter((key) => !USUALLY_HIDDEN.split(",").includes(key));

describe("the columns of the operator table", () => {
  it("show FLOPs wherever a row has them, without a device too", () => {
    expect(shownIn({ has_flops: true })).toContain("flops");
    expect(shownIn({ has_flops: true, device_ns: 5, flops_coverage: 0 })).toContain("flops");
    expect(shownIn({ has_flops: false, device_ns: 5 })).not.toContain("flops");
  });
});
