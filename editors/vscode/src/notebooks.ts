/** Fix all of a notebook that does not begin with Python. */

import {
  type CancellationToken,
  type CodeAction,
  CodeActionKind,
  type CodeActionProvider,
  type Command,
  type Disposable,
  languages,
  type TextDocument,
  workspace,
} from "vscode";
import type { CodeActionParams } from "vscode-languageclient/node";

type Ask = (params: CodeActionParams, token: CancellationToken) => Promise<(CodeAction | Command)[]>;

const FIX_ALL = CodeActionKind.Notebook.append("source.fixAll.xlalint");
const START = { line: 0, character: 0 };

/**
 * When a notebook is saved the editor asks for what changes all of it at the first cell only. Of cells that hold no Python the server
 * does not know, so it is asked at the first one that does.
 */
export function fixingOfNotebooks(ask: Ask): Disposable {
  const provider: CodeActionProvider = {
    provideCodeActions: async (document, _, context, token) => {
      const cell = context.only?.intersects(FIX_ALL) ? firstOfPython(document) : undefined;
      return cell === undefined
        ? []
        : await ask(
            {
              textDocument: { uri: cell.uri.toString() },
              range: { start: START, end: START },
              context: { diagnostics: [], only: [FIX_ALL.value] },
            },
            token,
          );
    },
  };
  // With `notebookType` in them, selectors did not match when a notebook was saved (1.139).
  return languages.registerCodeActionsProvider(
    ["markdown", "raw"].map((language) => ({ scheme: "vscode-notebook-cell", language })),
    provider,
    { providedCodeActionKinds: [FIX_ALL] },
  );
}

function firstOfPython(document: TextDocument): TextDocument | undefined {
  return workspace.notebookDocuments
    .filter((notebook) => notebook.notebookType === "jupyter-notebook")
    .map((notebook) => notebook.getCells().map((cell) => cell.document))
    .find((cells) => cells.includes(document))
    ?.find((cell) => cell.languageId === "python");
}
