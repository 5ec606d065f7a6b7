// Tries the packaged extension in a VS Code that code-server serves, in Chromium, and takes the gallery's screenshots.
//
//   node screenshots.mjs --code-server FOLDER/code-server --browser /usr/bin/chromium --xlalint PATH/bin/xlalint --out FOLDER
//
// images/problems.png is `problems-light.png`, and images/fix.png `fix-dark.png`, each with 128 colours.
// `playwright-core` and `code-server` come from npm, and are no part of what the extension needs: NODE_PATH or a folder above has the first.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: told } = parseArgs({
  options: Object.fromEntries(["code-server", "browser", "xlalint", "out"].map((name) => [name, { type: "string" }])),
});
const { chromium } = createRequire(path.join(process.cwd(), "index.js"))("playwright-core");
const MODEL = `import torch
from torch import Tensor, nn


class Model(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x + 1
        return x[mask].mean()
`;

const home = mkdtempSync(path.join(tmpdir(), "xlalint-shots-"));
const project = path.join(home, "project");
const settings = {
  "xlalint.path": told.xlalint,
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "window.autoDetectColorScheme": true,
  "editor.minimap.enabled": false,
};
mkdirSync(path.join(home, "data", "User"), { recursive: true });
mkdirSync(project);
mkdirSync(told.out, { recursive: true });
writeFileSync(path.join(project, "model.py"), MODEL);
writeFileSync(path.join(home, "data", "User", "settings.json"), JSON.stringify(settings));

const places = ["--user-data-dir", path.join(home, "data"), "--extensions-dir", path.join(home, "extensions")];
const entry = [path.join(told["code-server"], "out", "node", "entry.js"), ...places];
const installed = spawnSync(process.execPath, [...entry, "--install-extension", "xlalint.vsix"], { encoding: "utf8" });
assert.equal(installed.status, 0, installed.stdout + installed.stderr);
const server = spawn(
  process.execPath,
  [...entry, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry"],
  {
    stdio: ["ignore", "pipe", "inherit"],
  },
);
const address = await new Promise((resolve, reject) => {
  server.on("exit", () => reject(new Error("code-server ended")));
  server.stdout.on("data", (text) => {
    const match = /listening on (http:[^\s]+?)\/?\s/.exec(String(text));
    if (match) resolve(match[1]);
  });
});

const browser = await chromium.launch({ executablePath: told.browser, args: ["--no-sandbox"] });
try {
  for (const scheme of ["light", "dark"]) {
    await show(scheme);
  }
} finally {
  await browser.close();
  server.kill();
}

async function show(scheme) {
  const page = await browser.newPage({ viewport: { width: 960, height: 540 }, colorScheme: scheme });
  await page.goto(`${address}/?folder=${encodeURIComponent(project)}`);
  await page.locator(".explorer-folders-view").getByText("model.py").dblclick({ timeout: 90_000 });
  await page.locator(".squiggly-error, .squiggly-warning").first().waitFor({ timeout: 90_000 });
  await page.keyboard.press("Control+Shift+M");
  const problems = page.locator(".markers-panel");
  await problems.getByText("XLA101").first().waitFor({ timeout: 30_000 });
  await problems.getByText("XLA201").first().waitFor();
  await page.screenshot({ path: path.join(told.out, `problems-${scheme}.png`) });

  await page.locator(".view-line", { hasText: "if x.sum" }).getByText("sum").first().click();
  await page.keyboard.press("Control+.");
  await page.locator(".action-widget").getByText("torch.where").first().waitFor({ timeout: 30_000 });
  await page.screenshot({ path: path.join(told.out, `fix-${scheme}.png`) });
  await page.keyboard.press("Escape");
  await page.close();
}
