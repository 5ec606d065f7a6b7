import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { DocumentSymbol, LogOutputChannel, Position as RealPosition } from "vscode";
import manifest from "../package.json";
import { functionAt, registerCommands, SERVER } from "../src/commands";
import { log, Position, Range, reset, SymbolKind, Uri, world } from "./vscode";

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

function symbol(name: string, kind: SymbolKind, first: number, last: number, ...children: unknown[]): DocumentSymbol {
  return { name, kind, range: new Range(first, last), children } as unknown as DocumentSymbol;
}

const SYMBOLS = [
  symbol("x", SymbolKind.Variable, 0, 0),
  symbol(
    "Model",
    SymbolKind.Class,
    2,
    9,
    symbol("forward", SymbolKind.Method, 4, 8, symbol("f", SymbolKind.Function, 5, 7)),
  ),
  symbol("loss", SymbolKind.Function, 11, 12),
];

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
  assert.deepEqual(world.shown, ["model.py:7"]);
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

test("verify saves the file and takes the function around the cursor", async () => {
  const document = edit();
  world.symbols = SYMBOLS;
  await run("xlalint.verifyHere");
  assert.deepEqual(asked, [["xlalint.verify", "file:///p/model.py", "Model.forward"]]);
  assert.equal(document.saves, 1);
});

test("verify takes the whole file where nobody knows its symbols", async () => {
  edit();
  await run("xlalint.verifyHere");
  assert.deepEqual(asked, [["xlalint.verify", "file:///p/model.py"]]);
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

for (const [line, expected] of [
  [0, undefined],
  [3, undefined],
  [4, "Model.forward"],
  [6, "Model.forward"],
  [10, undefined],
  [12, "loss"],
] as const) {
  test(`around line ${line} is ${expected ?? "no function"}`, () => {
    assert.equal(functionAt(SYMBOLS, new Position(line, 0) as unknown as RealPosition), expected);
  });
}

test("symbols without extents tell nothing", () => {
  const flat = [{ name: "f", kind: SymbolKind.Function, location: {}, containerName: "" }];
  assert.equal(functionAt(flat as never, new Position(0, 0) as unknown as RealPosition), undefined);
});
