/** The server's life: started where xlalint is found, restarted when that changes, and one message where it cannot be. */

import * as os from "node:os";
import { commands, type LogOutputChannel, type Uri, window, workspace } from "vscode";
import { type Bundle, findExecutable } from "./executable";
import { processSettings, SECTION } from "./settings";

/** A server that runs. */
export interface Client {
  start(): Promise<void>;
  stop(): Promise<void>;
  execute(command: string, args: readonly unknown[]): Promise<unknown>;
}

export type MakeClient = (command: string, args: readonly string[], log: LogOutputChannel) => Client;

/** The interpreters that are selected for these folders, by whatever extension selects interpreters. */
export type Interpreters = (folders: readonly Uri[]) => Promise<readonly string[]>;

const SETTINGS = "Open Settings";
const AGAIN = "Try Again";
const LOG = "Show Log";

export class Connection {
  private client: Client | undefined;
  private command = "";
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: LogOutputChannel,
    private readonly makeClient: MakeClient,
    private readonly interpreters: Interpreters,
    private readonly bundle: Bundle,
  ) {}

  /** Start, or start again, with what the settings say now. */
  restart(): Promise<void> {
    return this.inTurn(async () => {
      await this.end();
      await this.begin();
    });
  }

  /** Start again if another executable would be found now. */
  reconsider(): Promise<void> {
    return this.inTurn(async () => {
      const found = await this.find();
      if (found.kind === "found" && found.command !== this.command) {
        await this.end();
        await this.begin();
      }
    });
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.end());
  }

  /** Have the server run one of its commands; undefined, with a message, where there is no server. */
  async execute(command: string, ...args: readonly unknown[]): Promise<unknown> {
    await this.turn;
    if (this.client === undefined) {
      void this.offer("xlalint does not run.", AGAIN, LOG);
      return undefined;
    }
    try {
      return await this.client.execute(command, args);
    } catch (error) {
      void this.offer(`xlalint: ${said(error)}`, LOG);
      return undefined;
    }
  }

  /** Starts and stops that overlap would leave servers behind. */
  private inTurn(act: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(act).catch((error) => this.log.error(said(error)));
    return this.turn;
  }

  private settings() {
    return processSettings(workspace.getConfiguration(SECTION));
  }

  private async find() {
    const folders = (workspace.workspaceFolders ?? []).map((folder) => folder.uri);
    return await findExecutable({
      setting: this.settings().path,
      folders: folders.filter((uri) => uri.scheme === "file").map((uri) => uri.fsPath),
      environments: await this.interpreters(folders),
      home: os.homedir(),
      variables: process.env,
      bundle: this.bundle,
    });
  }

  private async begin(): Promise<void> {
    const settings = this.settings();
    if (!settings.enable) {
      this.log.info("xlalint is switched off by `xlalint.enable`");
      return;
    }
    const found = await this.find();
    if (found.kind === "missing") {
      this.log.warn(found.message);
      void this.offer(found.message, SETTINGS, AGAIN);
      return;
    }
    const args = [...found.before, ...settings.args];
    this.log.info(`starting ${[found.command, ...args].join(" ")} (found by ${found.origin})`);
    const client = this.makeClient(found.command, args, this.log);
    try {
      await client.start();
    } catch (error) {
      this.log.error(said(error));
      void this.offer(`xlalint could not be started: ${said(error)}`, LOG, SETTINGS, AGAIN);
      return;
    }
    this.client = client;
    this.command = found.command;
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.command = "";
    try {
      await client?.stop();
    } catch (error) {
      this.log.warn(`the server did not stop when it was asked to: ${said(error)}`);
    }
  }

  private async offer(message: string, ...choices: string[]): Promise<void> {
    const chosen = await window.showErrorMessage(message, ...choices);
    if (chosen === SETTINGS) {
      await commands.executeCommand("workbench.action.openSettings", `${SECTION}.path`);
    } else if (chosen === AGAIN) {
      await this.restart();
    } else if (chosen === LOG) {
      this.log.show();
    }
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
