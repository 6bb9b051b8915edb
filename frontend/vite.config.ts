/**
 * Builds the page into tb_plugin/static, from where the Python package serves it.
 *
 * There are two entries: `index.js`, which TensorBoard imports into its frame and whose `render()`
 * it calls, and `index.html`, the same page on its own.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, type Rolldown } from "vite";

const root = import.meta.dirname;
const outDir = join(root, "../tb_plugin/static");
const compressible = /\.(css|html|js|json|svg|txt)$/;

/** Writes `x.gz` beside a text file `x` that gets smaller: the server need not compress the page. */
function gzipSiblings(): Plugin {
  return {
    name: "gzip-siblings",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
        if (compressible.test(name)) {
          const path = join(outDir, name);
          const plain = readFileSync(path);
          const packed = gzipSync(plain, { level: 9 });
          if (packed.length < plain.length) {
            writeFileSync(`${path}.gz`, packed);
          }
        }
      }
    },
  };
}

/** Lets the browser fetch, with the page, what its script is going to import, all at once. */
function preloadImports(): Plugin {
  const withImports = (file: string, bundle: Rolldown.OutputBundle): string[] => {
    const chunk = bundle[file];
    const imports = chunk?.type === "chunk" ? chunk.imports : [];
    return [...imports, ...imports.flatMap((one) => withImports(one, bundle))];
  };
  return {
    name: "preload-imports",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler: (_, { chunk, bundle }) =>
        [...new Set(withImports(chunk?.fileName ?? "", bundle ?? {}))].map((file) => ({
          tag: "link",
          attrs: { rel: "modulepreload", crossorigin: true, href: `./${file}` },
          injectTo: "head" as const,
        })),
    },
  };
}

export default defineConfig({
  root,
  // Relative, because TensorBoard and proxies serve the page under a path of their own.
  base: "./",
  cacheDir: join(root, "../node_modules/.vite"),
  plugins: [react(), preloadImports(), gzipSiblings()],
  worker: { format: "es" },
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // TensorBoard's content policy forbids fetching data: URLs.
    assetsInlineLimit: 0,
    // A preload helper would resolve against the page's address, which is not where the chunks are.
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700, // The charts, which are loaded when a chart is shown.
    license: { fileName: "third-party-licenses.txt" },
    rolldownOptions: {
      input: { index: join(root, "src/index.ts"), standalone: join(root, "index.html") },
      // Without this, `render` counts as unused and is removed.
      preserveEntrySignatures: "strict",
      output: {
        // TensorBoard knows index.js by name; everything else may be cached for ever.
        entryFileNames: (chunk) =>
          chunk.name === "index" ? "index.js" : "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
        // A chunk for every handful of shared lines would cost a round trip each, in a row.
        codeSplitting: {
          groups: [
            { name: "shared", test: /src.(base|api|state|components)./, minShareCount: 3 },
            { name: "trace", test: /src.(views.)?timeline./, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
