import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { CancellationToken, CodeActionContext, Range, TextDocument } from "vscode";
import { fixingOfNotebooks } from "../src/notebooks";
import { CodeActionKind, reset, Uri, world } from "./vscode";

const MADE = { title: "xlalint: apply all safe fixes" };
let asked: unknown[];

beforeEach(() => {
  reset();
  asked = [];
  fixingOfNotebooks(async (params) => {
    asked.push(params);
    return [MADE] as never;
  });
});

function notebook(...languages: string[]) {
  const documents = languages.map((languageId, number) => ({
    uri: Uri.from({ scheme: "vscode-notebook-cell", path: `/p/n.ipynb#${number}` }),
    languageId,
  }));
  world.notebooks = [{ notebookType: "jupyter-notebook", getCells: () => documents.map((document) => ({ document })) }];
  return documents;
}

async function offered(document: unknown, only: string | undefined) {
  assert(world.actions !== undefined, "no provider is registered");
  const context = { only: only === undefined ? undefined : new CodeActionKind(only) } as unknown as CodeActionContext;
  return await world.actions.provideCodeActions(
    document as TextDocument,
    undefined as unknown as Range,
    context,
    undefined as unknown as CancellationToken,
  );
}

for (const only of ["notebook.source.fixAll.xlalint", "notebook.source.fixAll", "notebook"]) {
  test(`${only} at a cell of Markdown is asked for at the first one of Python`, async () => {
    const cells = notebook("markdown", "raw", "python", "python");
    assert.deepEqual(await offered(cells[0], only), [MADE]);
    const start = { line: 0, character: 0 };
    assert.deepEqual(asked, [
      {
        textDocument: { uri: "vscode-notebook-cell:/p/n.ipynb#2" },
        range: { start, end: start },
        context: { diagnostics: [], only: ["notebook.source.fixAll.xlalint"] },
      },
    ]);
  });
}

for (const only of [undefined, "quickfix", "source.fixAll.xlalint", "notebook.source.organizeImports"]) {
  test(`${only ?? "a light bulb"} asks nobody`, async () => {
    assert.deepEqual(await offered(notebook("markdown", "python")[0], only), []);
    assert.deepEqual(asked, []);
  });
}

test("a notebook without Python has nothing to fix, and so has what is in no notebook", async () => {
  assert.deepEqual(await offered(notebook("markdown")[0], "notebook"), []);
  assert.deepEqual(await offered({ languageId: "markdown" }, "notebook"), []);
  assert.deepEqual(asked, []);
});
