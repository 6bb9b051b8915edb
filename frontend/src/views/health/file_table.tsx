/** The list of files: sorted by any column, drawn as far as it can be seen. */
import { type SortingState, useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import type { FileInfo } from "../../api/types.gen";
import { type ColumnMeta, columns, features } from "./file_columns";

const ROW = 24;
const ARROWS = { asc: "↑", desc: "↓" } as const;

interface FileTableProps {
  readonly files: readonly FileInfo[];
  readonly search: string;
}

function cellClass(meta: ColumnMeta | undefined): string {
  return [meta?.isNumber ? "num" : "", meta?.isMinor ? "minor" : ""].filter(Boolean).join(" ");
}

export function FileTable({ files, search }: FileTableProps) {
  const [sorting, setSorting] = useState<SortingState>([]);
  const scroll = useRef<HTMLDivElement>(null);
  const table = useTable({
    features,
    columns,
    data: files,
    state: { sorting, globalFilter: search },
    onSortingChange: setSorting,
    globalFilterFn: "includesString",
    getColumnCanGlobalFilter: (column) => ["path", "run", "verdict"].includes(column.id),
    getRowId: (file) => `${file.logdir}\n${file.path}`,
  });
  const { rows } = table.getRowModel();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 12,
    initialRect: { width: 1200, height: 480 },
  });
  return (
    <div ref={scroll} className="files-scroll">
      <table className="files" aria-rowcount={rows.length + 1}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => {
                const sorted = header.column.getIsSorted();
                return (
                  <th
                    key={header.id}
                    className={cellClass(header.column.columnDef.meta)}
                    aria-sort={sorted === false ? undefined : `${sorted}ending`}
                  >
                    <button type="button" onClick={header.column.getToggleSortingHandler()}>
                      <table.FlexRender header={header} />
                      <span aria-hidden="true">{sorted === false ? "" : ARROWS[sorted]}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return row === undefined ? null : (
              <tr
                key={row.id}
                aria-rowindex={item.index + 2}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row.getAllCells().map((cell) => (
                  <td key={cell.id} className={cellClass(cell.column.columnDef.meta)}>
                    <table.FlexRender cell={cell} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length === 0 ? <p className="dim files-none">No such file.</p> : null}
    </div>
  );
}
