import preact from "@preact/preset-vite";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Pages from `file://` refuse scripts and styles that ask for a foreign origin's permission. */
const classicScript: Plugin = {
  name: "classic-script",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (html) =>
      html.replace('type="module" crossorigin', "defer").replaceAll(" crossorigin", ""),
  },
};

// One classic script: browsers load no modules from `file://`.
export default defineConfig({
  base: "./",
  plugins: [preact(), classicScript],
  build: {
    outDir: "dist",
    assetsDir: ".",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: { format: "iife", entryFileNames: "site.js", assetFileNames: "site[extname]" },
    },
  },
  test: { environment: "happy-dom", include: ["tests/**/*.test.ts", "tests/**/*.test.tsx"] },
});
