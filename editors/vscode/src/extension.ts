import { type ExtensionContext, window } from "vscode";
import { activateWith } from "./activation";
import { bundleOf } from "./bundle";
import { makeClient } from "./client";
import type { Connection } from "./connection";
import { pythonExtension } from "./interpreters";

let connection: Connection | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  const log = window.createOutputChannel("xlalint", { log: true });
  context.subscriptions.push(log);
  connection = await activateWith(context, log, makeClient, await pythonExtension(log), bundleOf(context));
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}
