import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const PAGE = "../src/pellucid/explorer/page";

/** What the page was built from, so that a test can tell when the two do not belong together (tests/test_explorer_page.py). */
function sourceHash() {
  const folders = ["src", "public"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll("\\", "/")),
  );
  const files = [
    ...folders,
    "index.html",
    "openapi.json",
    "package-lock.json",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.js",
  ];
  const hash = createHash("sha256");
  for (const file of files.sort()) hash.update(`${file}\0${readFileSync(file, "utf8").replaceAll("\r\n", "\n")}\0`);
  return hash.digest("hex");
}

// the page ships inside the Python package; names without hashes keep its history readable
export default defineConfig({
  plugins: [
    svelte(),
    {
      name: "source-hash",
      apply: "build",
      closeBundle: () => writeFileSync(`${PAGE}/source.txt`, sourceHash() + "\n"),
    },
  ],
  build: {
    outDir: PAGE,
    emptyOutDir: true,
    license: { fileName: "licences.md" },
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        entryFileNames: "assets/app.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8750" } },
});
