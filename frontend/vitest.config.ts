/** Runs the tests that lie beside the sources of the page. */
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const root = import.meta.dirname;

export default defineConfig({
  root,
  cacheDir: join(root, "../node_modules/.vite"),
  plugins: [react()],
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["./vitest.setup.ts"],
    testTimeout: 20_000,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
