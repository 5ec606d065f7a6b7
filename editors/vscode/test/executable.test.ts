import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { findExecutable, type Surroundings } from "../src/executable";

describe("the executable", { skip: process.platform === "win32" && "its files have other names there" }, () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), "xlalint-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function put(name: string, mode = 0o755): string {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, "");
    chmodSync(file, mode);
    return file;
  }

  function around(known: Partial<Surroundings> = {}): Surroundings {
    const bundle = { start: path.join(root, "bundled/start.py"), runsOn: async () => true };
    const folders = [path.join(root, "project")];
    const none = { setting: "", folders, environments: [], home: root, variables: {}, bundle };
    return { ...none, ...known };
  }

  async function found(known: Partial<Surroundings> = {}): Promise<string> {
    const result = await findExecutable(around(known));
    return result.kind === "found" ? `${result.origin}: ${path.relative(root, result.command)}` : "missing";
  }

  test("the selected interpreter's comes before the usual folders, those before PATH", async () => {
    const known = {
      environments: [path.join(root, "conda/bin/python3.12")],
      variables: { PATH: path.join(root, "bin") },
    };
    assert.equal(await found(known), "missing");
    put("bin/xlalint");
    assert.equal(await found(known), "PATH: bin/xlalint");
    put("project/venv/bin/xlalint");
    assert.equal(await found(known), "environment: project/venv/bin/xlalint");
    put("project/.venv/bin/xlalint");
    assert.equal(await found(known), "environment: project/.venv/bin/xlalint");
    put("conda/bin/xlalint");
    assert.equal(await found(known), "environment: conda/bin/xlalint");
  });

  test("what the extension brings along comes last, with the project's interpreter before one on PATH", async () => {
    const variables = { PATH: path.join(root, "bin") };
    put("bin/python3");
    assert.equal(await found({ variables }), "missing");
    put("bundled/start.py", 0o644);
    assert.equal(await found({ variables }), "extension: bin/python3");
    put("project/.venv/bin/python");
    assert.equal(await found({ variables }), "extension: project/.venv/bin/python");
    const environments = [put("conda/bin/python3.12")];
    assert.equal(await found({ variables, environments }), "extension: conda/bin/python3.12");
    put("bin/xlalint");
    assert.equal(await found({ variables, environments }), "PATH: bin/xlalint");
  });

  test("an interpreter on which it does not run is passed over", async () => {
    const start = put("bundled/start.py");
    const old = put("project/.venv/bin/python");
    put("bin/python3");
    const bundle = { start, runsOn: async (python: string) => python !== old };
    assert.equal(await found({ bundle, variables: { PATH: path.join(root, "bin") } }), "extension: bin/python3");
    assert.equal(await found({ bundle }), "missing");
  });

  test("an environment may be given by its folder, and any folder of the workspace may have one", async () => {
    put("env/bin/xlalint");
    assert.equal(await found({ environments: [path.join(root, "env")] }), "environment: env/bin/xlalint");
    put("second/.venv/bin/xlalint");
    const folders = ["first", "second"].map((name) => path.join(root, name));
    assert.equal(await found({ folders }), "environment: second/.venv/bin/xlalint");
  });

  test("what cannot be executed, a folder, and what lies elsewhere in the project are not it", async () => {
    put("project/.venv/bin/xlalint", 0o644);
    mkdirSync(path.join(root, "project/venv/bin/xlalint"), { recursive: true });
    put("project/xlalint");
    assert.equal(await found({ environments: ["python"], variables: { PATH: ":relative" } }), "missing");
  });

  for (const [setting, expected] of [
    ["~/tools/xlalint", "setting: tools/xlalint"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as users write it
    ["${workspaceFolder}/../tools/xlalint", "setting: tools/xlalint"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as users write it
    ["${env:TOOLS}/xlalint", "setting: tools/xlalint"],
    ["../tools/xlalint", "setting: tools/xlalint"],
    ["other", "setting: bin/other"],
  ] as const) {
    test(`the setting ${setting} wins over everything`, async () => {
      put("tools/xlalint");
      put("bin/other");
      put("project/.venv/bin/xlalint");
      const variables = { PATH: path.join(root, "bin"), TOOLS: path.join(root, "tools") };
      assert.equal(await found({ setting, variables }), expected);
    });
  }

  test("a setting that is wrong is said to be, and nothing else is taken", async () => {
    put("project/.venv/bin/xlalint");
    const result = await findExecutable(around({ setting: "/nowhere/xlalint" }));
    assert(result.kind === "missing");
    assert.match(result.message, /`xlalint\.path` names \/nowhere\/xlalint, which is no executable file/);
  });

  test("where there is none, the message says what to do", async () => {
    const result = await findExecutable(around());
    assert(result.kind === "missing");
    assert.match(result.message, /pip install 'xlalint\[server\]'.*`xlalint\.path`/);
  });
});
