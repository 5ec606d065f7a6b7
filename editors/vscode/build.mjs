// Bundles the extension into one file, so that the package needs no node_modules; with --tests the tests, which get a stub of `vscode`.
import { copyFileSync, readdirSync } from "node:fs";
import { build } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", format: "cjs", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: "out",
    sourcemap: "inline",
    alias: { vscode: "./test/vscode.ts" },
  });
} else {
  copyFileSync("../../LICENSE", "LICENSE");
  await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    external: ["vscode"],
    minify: true,
    legalComments: "eof",
  });
}
