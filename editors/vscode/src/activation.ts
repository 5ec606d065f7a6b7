import { type Disposable, type Event, type LogOutputChannel, workspace } from "vscode";
import { registerCommands } from "./commands";
import { Connection, type Interpreters, type MakeClient } from "./connection";
import type { Bundle } from "./executable";
import { OF_THE_PROCESS } from "./settings";

/** What selects interpreters, and tells when another one is selected. */
export interface Selection {
  readonly interpreters: Interpreters;
  readonly onDidChange: Event<unknown>;
}

/** Everything but the client and the interpreters, which tests bring themselves. */
export async function activateWith(
  context: { readonly subscriptions: Disposable[] },
  log: LogOutputChannel,
  makeClient: MakeClient,
  selection: Selection,
  bundle: Bundle,
): Promise<Connection> {
  const connection = new Connection(log, makeClient, selection.interpreters, bundle);
  context.subscriptions.push(
    ...registerCommands(connection, log),
    workspace.onDidChangeConfiguration((event) => {
      if (OF_THE_PROCESS.some((name) => event.affectsConfiguration(name))) {
        void connection.restart();
      }
    }),
    selection.onDidChange(() => void connection.reconsider()),
  );
  await connection.restart();
  return connection;
}
