/** The language client as this server wants it. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { type Disposable, type LogOutputChannel, Uri, workspace } from "vscode";
import {
  CloseAction,
  CodeActionRequest,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  State,
} from "vscode-languageclient/node";
import { SERVER } from "./commands";
import type { Client } from "./connection";
import { fixingOfNotebooks } from "./notebooks";
import { SECTION, serverSettings } from "./settings";

const SCHEMES = ["file", "untitled", "vscode-notebook", "vscode-notebook-cell"];
const PATIENCE = 1000; // milliseconds

export function makeClient(command: string, args: readonly string[], log: LogOutputChannel): Client {
  let last = "";
  let drained: Promise<unknown> = Promise.resolve();
  const options: LanguageClientOptions = {
    documentSelector: SCHEMES.map((scheme) => ({ scheme, language: "python" })),
    outputChannel: log,
    diagnosticCollectionName: SECTION,
    stdioOptions: {
      stdout: () => undefined,
      stderr: (stream) => {
        const lines = createInterface(stream).on("line", (line) => {
          last = line.trim() || last;
          log.info(line);
        });
        drained = once(lines, "close");
      },
    },
    initializationFailedHandler: () => false,
    errorHandler: {
      error: (error, message, count) => kept.error(error, message, count),
      closed: () =>
        client.state === State.Running ? kept.closed() : { action: CloseAction.DoNotRestart, handled: true },
    },
    middleware: {
      workspace: {
        configuration: async (params, token, next) => {
          const answers = await next(params, token);
          return Array.isArray(answers)
            ? params.items.map((item, number) =>
                item.section === SECTION ? settingsFor(item.scopeUri) : answers[number],
              )
            : answers;
        },
      },
      // What is verified is the file on the disk.
      executeCommand: async (name, given, next) => {
        if (name === SERVER.verify) {
          await workspace.textDocuments.find((document) => document.uri.toString() === given[0])?.save();
        }
        return next(name, given);
      },
    },
  };
  // An interpreter must not look for modules in the workspace, which is where it is started.
  const env = { ...process.env, PYTHONSAFEPATH: "1" };
  const client = new Quiet(SECTION, "xlalint", { command, args: [...args], options: { env } }, options);
  const kept = client.createDefaultErrorHandler();
  let notebooks: Disposable | undefined;
  return {
    start: async () => {
      try {
        await client.start();
        client.quiet = false;
        notebooks = fixingOfNotebooks(async (params, token) =>
          client.protocol2CodeConverter.asCodeActionResult(
            (await client.sendRequest(CodeActionRequest.type, params, token)) ?? [],
            token,
          ),
        );
      } catch (error) {
        // Of a connection that breaks the server has said why, but that may come after the end itself.
        if (typeof (error as { code?: unknown }).code === "number") {
          await Promise.race([drained, setTimeout(PATIENCE, undefined, { ref: false })]);
          throw last === "" ? error : new Error(last.replace(/^Error: /, ""));
        }
        throw error;
      }
    },
    stop: () => {
      notebooks?.dispose();
      client.quiet = true; // of what it was about to say and no longer can
      return client.dispose();
    },
    execute: (name, given) => client.sendRequest(ExecuteCommandRequest.type, { command: name, arguments: [...given] }),
  };
}

/** Why a start failed is told once, by who asked for it; and what fails as it is stopped is nobody's concern. */
class Quiet extends LanguageClient {
  quiet = true;

  override error(message: string, data?: unknown, showNotification: boolean | "force" = true): void {
    super.error(message, data, this.quiet ? false : showNotification);
  }
}

function settingsFor(scope: string | undefined): Record<string, unknown> {
  return serverSettings(workspace.getConfiguration(SECTION, scope === undefined ? null : Uri.parse(scope)));
}
