import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** Keep what would begin a comment of HTML out of the script, which stands in a page. */
const inPage: Plugin = {
  name: "in-page",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk") file.code = file.code.replaceAll("<!--", "<\\!--");
    }
  },
};

export default defineConfig({
  plugins: [svelte(), inPage],
  build: {
    target: "es2022",
    // These know light-dark(); for older ones it would follow the system's theme alone.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
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
