/** As much of the `vscode` module as the extension without its language client uses, with a record of what was done. */

import { EventEmitter as NodeEmitter } from "node:events";
import type { CodeActionProvider } from "vscode";

type Act = (...given: never[]) => unknown;

export class EventEmitter<T> {
  private readonly emitter = new NodeEmitter();
  readonly event = (listener: (value: T) => unknown) => {
    this.emitter.on("it", listener);
    return { dispose: () => this.emitter.off("it", listener) };
  };
  fire(value: T): void {
    this.emitter.emit("it", value);
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}
  static file(path: string): Uri {
    return new Uri("file", path);
  }
  static from(parts: { scheme: string; path: string }): Uri {
    return new Uri(parts.scheme, parts.path);
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}:${this.scheme === "file" ? "//" : ""}${this.path}`;
  }
}

export class CodeActionKind {
  static readonly Notebook = new CodeActionKind("notebook");
  constructor(readonly value: string) {}
  append(parts: string): CodeActionKind {
    return new CodeActionKind(`${this.value}.${parts}`);
  }
  private contains(other: CodeActionKind): boolean {
    return this.value === other.value || other.value.startsWith(`${this.value}.`);
  }
  intersects(other: CodeActionKind): boolean {
    return this.contains(other) || other.contains(this);
  }
}

export enum ViewColumn {
  Beside = -2,
}

/** What tests set and read. */
export const world = {
  settings: {} as Record<string, unknown>,
  folders: [] as string[],
  editor: undefined as unknown,
  notebooks: [] as unknown[],
  actions: undefined as CodeActionProvider | undefined,
  answer: undefined as string | undefined,
  commands: new Map<string, Act>(),
  told: [] as string[],
  offered: [] as string[][],
  executed: [] as unknown[][],
  shown: [] as string[],
  configured: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
  provider: undefined as { provideTextDocumentContent(uri: Uri): string } | undefined,
};

export function reset(): void {
  Object.assign(world, { settings: {}, folders: [], editor: undefined, notebooks: [], answer: undefined });
  Object.assign(world, {
    commands: new Map(),
    told: [],
    offered: [],
    executed: [],
    shown: [],
    provider: undefined,
    actions: undefined,
  });
  world.configured = new EventEmitter();
}

export const log = {
  lines: [] as string[],
  info: (line: string) => log.lines.push(line),
  warn: (line: string) => log.lines.push(line),
  error: (line: string) => log.lines.push(line),
  show: () => world.shown.push("log"),
};

export const commands = {
  registerCommand(name: string, act: Act) {
    world.commands.set(name, act);
    return { dispose: () => world.commands.delete(name) };
  },
  async executeCommand(name: string, ...given: unknown[]) {
    world.executed.push([name, ...given]);
  },
};

export const window = {
  get activeTextEditor() {
    return world.editor;
  },
  async showErrorMessage(message: string, ...choices: string[]) {
    world.told.push(message);
    world.offered.push(choices);
    const answer = world.answer;
    world.answer = undefined;
    return answer;
  },
  async showInformationMessage(message: string) {
    world.told.push(message);
  },
  setStatusBarMessage(message: string) {
    world.told.push(message);
  },
  async showTextDocument(document: { uri: Uri; languageId: string }) {
    world.shown.push(`${document.uri.path} (${document.languageId})`);
  },
};

export const languages = {
  async setTextDocumentLanguage(document: { uri: Uri }, languageId: string) {
    return { ...document, languageId };
  },
  registerCodeActionsProvider(_selector: unknown, provider: CodeActionProvider) {
    world.actions = provider;
    return { dispose: () => undefined };
  },
};

export const workspace = {
  get notebookDocuments() {
    return world.notebooks;
  },
  get workspaceFolders() {
    return world.folders.map((path) => ({ uri: Uri.file(path) }));
  },
  getConfiguration() {
    return {
      get: (name: string, otherwise: unknown) => world.settings[name] ?? otherwise,
      inspect: (name: string) => ({ key: name, workspaceValue: world.settings[name] }),
    };
  },
  onDidChangeConfiguration: (listener: (event: { affectsConfiguration(name: string): boolean }) => unknown) =>
    world.configured.event(listener),
  registerTextDocumentContentProvider(_scheme: string, provider: typeof world.provider) {
    world.provider = provider;
    return { dispose: () => undefined };
  },
  async openTextDocument(uri: Uri) {
    return { uri, languageId: "plaintext" };
  },
};
