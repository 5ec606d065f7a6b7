/** What the palette offers. The server's own commands have other names: the language client registers those itself. */

import {
  commands,
  type Disposable,
  EventEmitter,
  type LogOutputChannel,
  languages,
  type TextDocumentContentProvider,
  type TextEditor,
  Uri,
  ViewColumn,
  window,
  workspace,
} from "vscode";
import type { Connection } from "./connection";

/** The commands of the server, as its README lists them. */
export const SERVER = { fixAll: "xlalint.fixAll", explain: "xlalint.explain", verify: "xlalint.verify" } as const;

/** The scheme of explanations, and their language: the manifest says how these are shown. */
const EXPLAINED = "xlalint-explained";

type Talk = Pick<Connection, "execute" | "restart">;

export function registerCommands(connection: Talk, log: Pick<LogOutputChannel, "show">): Disposable[] {
  const explanations = new Explanations();
  const here = (act: (editor: TextEditor) => Promise<void>) => async () => {
    const editor = window.activeTextEditor;
    if (editor?.document.languageId === "python") {
      await act(editor);
    } else {
      void window.showInformationMessage("xlalint: open a Python file or a cell of a notebook first");
    }
  };
  return [
    workspace.registerTextDocumentContentProvider(EXPLAINED, explanations),
    commands.registerCommand("xlalint.restart", () => connection.restart()),
    commands.registerCommand("xlalint.showLog", () => log.show()),
    commands.registerCommand(
      "xlalint.fixFile",
      here(async ({ document }) => {
        if ((await connection.execute(SERVER.fixAll, document.uri.toString())) === false) {
          void window.setStatusBarMessage("xlalint: there is nothing to fix", 5000);
        }
      }),
    ),
    commands.registerCommand(
      "xlalint.explainHere",
      here(async ({ document, selection }) => {
        const { line, character } = selection.active;
        const text = await connection.execute(SERVER.explain, document.uri.toString(), { line, character });
        if (typeof text === "string") {
          await explanations.show(`${basename(document.uri)}:${line + 1}`, text);
        }
      }),
    ),
    commands.registerCommand(
      "xlalint.verifyHere",
      here(async ({ document, selection }) => {
        if (document.uri.scheme !== "file") {
          void window.showInformationMessage("xlalint: what is verified are functions of files that are saved");
          return;
        }
        await document.save();
        const { line, character } = selection.active;
        await connection.execute(SERVER.verify, document.uri.toString(), { line, character });
      }),
    ),
  ];
}

/** Explanations as documents that cannot be edited, and ask nobody to save them. */
class Explanations implements TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;

  provideTextDocumentContent(uri: Uri): string {
    return this.texts.get(uri.path) ?? "";
  }

  async show(place: string, text: string): Promise<void> {
    const uri = Uri.from({ scheme: EXPLAINED, path: place });
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    const document = await languages.setTextDocumentLanguage(await workspace.openTextDocument(uri), EXPLAINED);
    await window.showTextDocument(document, { viewColumn: ViewColumn.Beside, preview: true, preserveFocus: true });
  }
}

function basename(uri: Uri): string {
  return uri.path.slice(uri.path.lastIndexOf("/") + 1);
}
