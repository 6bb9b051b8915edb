import { render } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { OperatorRow, Operators } from "../../api/types.gen";
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

  it("tell what took no time from what is too short for the unit", () => {
    const rows = [9_000_000, 3, 0].map(
      (total_ns) => ({ total_ns, self_ns: total_ns }) as OperatorRow,
    );
    const columns = columnsOf(answerOf({}), scalesOf(rows), { group_by: "name" });
    const total = columns.find(({ key }) => key === "total_ns");
    const said = rows.map((row) => String(total?.cell(row)).replaceAll("\u00a0", " "));
    expect(said).toEqual(["9.000", "< 0.001", "0"]);
  });

  it("say in few words that an op could use tensor cores, and of its kernels how many do", () => {
    const columns = columnsOf(answerOf({ device_ns: 5 }), scalesOf([]), { group_by: "name" });
    const cores = columns.find(({ key }) => key.startsWith("tensor_core"));
    const said = (tensor_core_eligible: boolean, tensor_core_self_ratio: number | null) => {
      const row = { tensor_core_eligible, tensor_core_self_ratio } as OperatorRow;
      return render(cores?.cell(row)).container.textContent?.replaceAll("\u00a0", " ");
    };
    expect(said(true, 0)).toBe("eligible · 0 %");
    expect(said(true, null)).toBe("eligible");
    expect(said(false, 0.5)).toBe("50 %");
    expect(said(false, null)).toBe("–");
  });

  it("name cores as the vendor does", () => {
    const answer = answerOf({ device_ns: 5, cores_name: "Matrix cores" });
    const columns = columnsOf(answer, scalesOf([]), { group_by: "name" });
    expect(columns.map(({ head }) => head)).toContain("Matrix cores");
  });
});
