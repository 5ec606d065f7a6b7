import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { LogOutputChannel } from "vscode";
import manifest from "../package.json";
import { registerCommands, SERVER } from "../src/commands";
import { log, Position, reset, Uri, world } from "./vscode";

let asked: unknown[][];
let answer: unknown;

beforeEach(() => {
  reset();
  asked = [];
  answer = undefined;
  const connection = {
    execute: async (...given: unknown[]) => {
      asked.push(given);
      return answer;
    },
    restart: async () => void asked.push(["restart"]),
  };
  registerCommands(connection, log as unknown as LogOutputChannel);
});

async function run(name: string): Promise<void> {
  const act = world.commands.get(name);
  assert(act !== undefined, `${name} is not registered`);
  await act();
}

function edit(uri = Uri.file("/p/model.py"), languageId = "python") {
  const document = { uri, languageId, saves: 0, save: async () => ++document.saves > 0 };
  world.editor = { document, selection: { active: new Position(6, 2) } };
  return document;
}

test("the manifest's commands are those that are registered, and none has a name of the server's own", () => {
  const declared = manifest.contributes.commands.map((one) => one.command);
  assert.deepEqual([...world.commands.keys()].sort(), declared.sort());
  assert.deepEqual(
    declared.filter((name) => (Object.values(SERVER) as string[]).includes(name)),
    [],
  );
});

test("fix all asks the server for the file of the editor, and says where nothing was to be done", async () => {
  edit();
  answer = true;
  await run("xlalint.fixFile");
  assert.deepEqual([asked, world.told], [[["xlalint.fixAll", "file:///p/model.py"]], []]);
  answer = false;
  await run("xlalint.fixFile");
  assert.deepEqual(world.told, ["xlalint: there is nothing to fix"]);
});

test("an explanation is shown in a document of its own, renewed when it is asked for again", async () => {
  edit();
  answer = "x is a tensor";
  await run("xlalint.explainHere");
  assert.deepEqual(asked, [["xlalint.explain", "file:///p/model.py", { line: 6, character: 2 }]]);
  assert.deepEqual(world.shown, ["model.py:7 (xlalint-explained)"]);
  const uri = Uri.from({ scheme: "", path: "model.py:7" });
  assert.equal(world.provider?.provideTextDocumentContent(uri), "x is a tensor");
  answer = "x is a host value";
  await run("xlalint.explainHere");
  assert.equal(world.provider?.provideTextDocumentContent(uri), "x is a host value");
});

test("where the server says nothing, nothing is shown", async () => {
  edit();
  await run("xlalint.explainHere");
  assert.deepEqual(world.shown, []);
});

test("verify saves the file and has the server find the function around the cursor", async () => {
  const document = edit();
  await run("xlalint.verifyHere");
  assert.deepEqual(asked, [["xlalint.verify", "file:///p/model.py", { line: 6, character: 2 }]]);
  assert.equal(document.saves, 1);
});

test("verify leaves alone what is in no file", async () => {
  edit(Uri.from({ scheme: "vscode-notebook-cell", path: "/p/n.ipynb" }));
  await run("xlalint.verifyHere");
  assert.deepEqual(asked, []);
  assert.match(world.told.join(), /functions of files that are saved/);
});

for (const name of ["xlalint.fixFile", "xlalint.explainHere", "xlalint.verifyHere"]) {
  test(`${name} asks for a Python file where there is none`, async () => {
    await run(name);
    edit(Uri.file("/p/notes.md"), "markdown");
    await run(name);
    assert.deepEqual(asked, []);
    assert.equal(world.told.length, 2);
  });
}

test("restart and the log need no editor", async () => {
  await run("xlalint.restart");
  await run("xlalint.showLog");
  assert.deepEqual([asked, world.shown], [[["restart"]], ["log"]]);
});

test("the manifest says how explanations are shown", () => {
  const defaults: Record<string, object> = manifest.contributes.configurationDefaults;
  const shown = manifest.contributes.languages.map((language) => Object.keys(defaults[`[${language.id}]`] ?? {}));
  assert(shown.flat().includes("editor.wordWrap"));
});
