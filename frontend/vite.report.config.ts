/**
 * Builds the page as one classic script, for reports: a document of `file:` loads no modules, and a
 * report has no second file. It is the standalone page; `api/stored.ts` finds the answers beside it.
 */
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const root = import.meta.dirname;

/** The worker of tiles, which a report does not start, is not written. */
function withoutAssets(): Plugin {
  return {
    name: "without-assets",
    generateBundle(_, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "asset") {
          delete bundle[name];
        }
      }
    },
  };
}

export default defineConfig({
  root,
  base: "./",
  cacheDir: join(root, "../node_modules/.vite"),
  plugins: [react(), withoutAssets()],
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: join(root, "../tb_plugin/static/report"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2500,
    rolldownOptions: { transform: { define: { "import.meta": "{}" } } },
    lib: {
      entry: join(root, "src/main.tsx"),
      name: "kinetoscope",
      formats: ["iife"],
      fileName: () => "report.js",
    },
  },
});
