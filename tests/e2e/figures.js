/**
 * What a view says: its headings, and the first rows of its tables, without how long ago a file was
 * written; null while it is being filled.
 */
() => {
  const main = document.querySelector("main");
  if (main === null || main.querySelector("h1, h2") === null) return null;
  if (main.querySelector("[aria-busy=true], .skeleton") !== null) return null;
  const words = (element) => element.textContent.replace(/\d+\s\w+\sago|\s+/g, " ").trim();
  const rows = new Map();
  for (const row of main.querySelectorAll("tr, [role=row]")) {
    const table = row.closest("table, [role=table], [role=grid], [role=treegrid]");
    rows.set(table, [...(rows.get(table) ?? []), words(row)].slice(0, 6));
  }
  const missing = main.textContent.includes("Not in this report") ? ["missing"] : [];
  const alerts = [...document.querySelectorAll("[role=alert]")].map(words);
  const heads = [...main.querySelectorAll("h1, h2, h3")].map(words);
  return [...missing, ...alerts, ...heads, ...[...rows.values()].flat()];
}
