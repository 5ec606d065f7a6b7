/** The server that packages for a platform bring along (`bundle.py` lays it out). */

import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";
import type { ExtensionContext } from "vscode";
import type { Bundle } from "./executable";

const PATIENCE = 10_000; // milliseconds

export function bundleOf(context: Pick<ExtensionContext, "extensionPath">): Bundle {
  const start = path.join(context.extensionPath, "bundled", "start.py");
  return { start, runsOn: (python) => runsOn(python, start) };
}

/** Whether this interpreter has a version, and is built for a machine, that the bundled modules are for. */
async function runsOn(python: string, start: string): Promise<boolean> {
  try {
    await promisify(execFile)(python, ["-I", start, "--version"], { timeout: PATIENCE });
    return true;
  } catch {
    return false;
  }
}
