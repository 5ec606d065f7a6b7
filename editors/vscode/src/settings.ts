/** The user's settings: those of the extension itself, and those that are the server's. */

import type { WorkspaceConfiguration } from "vscode";

export const SECTION = "xlalint";

/** The settings that take another process to come into force. */
export const OF_THE_PROCESS = ["enable", "path", "args"].map((name) => `${SECTION}.${name}`);

/** What the server takes; tests hold it against its schema and the manifest. */
export const OF_THE_SERVER = [
  "configuration",
  "isolated",
  "unsafeFixes",
  "inlayHints",
  "codeLens",
  "target",
  "device",
  "minConfidence",
  "showInfo",
  "select",
  "extendSelect",
  "ignore",
  "extendExclude",
  "python",
  "baseline",
] as const;

export interface ProcessSettings {
  readonly enable: boolean;
  readonly path: string;
  readonly args: readonly string[];
}

export function processSettings(configuration: WorkspaceConfiguration): ProcessSettings {
  return {
    enable: configuration.get("enable", true),
    path: configuration.get("path", "").trim(),
    args: configuration.get("args", ["server"]),
  };
}

/**
 * What the server is told. The editor's word wins over the project's configuration file, so only what somebody has set is said:
 * a default of the manifest would silence the file.
 */
export function serverSettings(configuration: WorkspaceConfiguration): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const name of OF_THE_SERVER) {
    const said = configuration.inspect(name);
    const value = said?.workspaceFolderValue ?? said?.workspaceValue ?? said?.globalValue;
    if (value !== undefined && value !== null) {
      told[name] = value;
    }
  }
  return told;
}
