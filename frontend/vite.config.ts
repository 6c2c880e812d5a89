import preact from "@preact/preset-vite";
import { defineConfig } from "vitest/config";

// One classic script: browsers load no modules from `file://`.
export default defineConfig({
  base: "./",
  plugins: [preact()],
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
