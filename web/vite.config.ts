import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    outDir: "../src/headway/report",
    emptyOutDir: false,
    modulePreload: false,
    rolldownOptions: {
      input: "src/main.ts",
      preserveEntrySignatures: "strict",
      output: { format: "es", entryFileNames: "app.js", minify: true },
    },
  },
});
