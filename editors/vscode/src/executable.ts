/** Where xlalint is: the user's word first, then the environment that the project runs in, `PATH`, and what the extension brings along. */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import * as path from "node:path";

/** What is known before the search. `environments` are interpreters or folders of environments that were selected, best first. */
export interface Surroundings {
  readonly setting: string;
  readonly folders: readonly string[];
  readonly environments: readonly string[];
  readonly home: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly bundle: Bundle;
}

/** The server in the extension's package. It needs an interpreter: packages for a platform have one, others have none to `start`. */
export interface Bundle {
  readonly start: string;
  runsOn(python: string): Promise<boolean>;
}

export type Found =
  | {
      readonly kind: "found";
      readonly command: string;
      /** What comes before the arguments that the settings have. */
      readonly before: readonly string[];
      readonly origin: "setting" | "environment" | "PATH" | "extension";
    }
  | { readonly kind: "missing"; readonly message: string };

const WINDOWS = process.platform === "win32";
const NAME = WINDOWS ? "xlalint.exe" : "xlalint";
const BIN = WINDOWS ? "Scripts" : "bin";
const PYTHONS = WINDOWS ? ["python.exe"] : ["python3", "python"];
const USUAL = [".venv", "venv"];
const PYTHON = /^python[\d.]*(\.exe)?$/i;

export async function findExecutable(around: Surroundings): Promise<Found> {
  if (around.setting !== "") {
    return await configured(around);
  }
  const selected = around.environments.filter(path.isAbsolute).map(folderOfScripts);
  const usual = around.folders.flatMap((folder) => USUAL.map((name) => path.join(folder, name, BIN)));
  for (const folder of [...selected, ...usual]) {
    const command = path.join(folder, NAME);
    if (await isExecutable(command)) {
      return found(command, "environment");
    }
  }
  const command = await onPath(NAME, around);
  if (command !== undefined) {
    return found(command, "PATH");
  }
  const python = await pythonForBundle(around, selected, usual);
  if (python !== undefined) {
    return { kind: "found", command: python, before: ["-I", around.bundle.start], origin: "extension" };
  }
  return {
    kind: "missing",
    message:
      "xlalint is neither in the Python environment of this workspace nor on PATH. " +
      "Install it there with `pip install 'xlalint[server]'`, or say in the setting `xlalint.path` where it is.",
  };
}

function found(command: string, origin: "setting" | "environment" | "PATH"): Found {
  return { kind: "found", command, before: [], origin };
}

/** The interpreter of the project, or one on `PATH`, if the bundled server runs on it. */
async function pythonForBundle(
  around: Surroundings,
  selected: readonly string[],
  usual: readonly string[],
): Promise<string | undefined> {
  if (!(await isFile(around.bundle.start))) {
    return undefined;
  }
  const named = around.environments.filter((one) => path.isAbsolute(one) && PYTHON.test(path.basename(one)));
  const beside = [...selected, ...usual].flatMap((folder) => PYTHONS.map((name) => path.join(folder, name)));
  const last = await Promise.all(PYTHONS.map((name) => onPath(name, around)));
  for (const python of [...named, ...beside, ...last]) {
    if (python !== undefined && (await isExecutable(python)) && (await around.bundle.runsOn(python))) {
      return python;
    }
  }
  return undefined;
}

/** Of an interpreter, or of the folder of an environment. */
function folderOfScripts(environment: string): string {
  // On Windows the interpreter of an installation or of conda lies beside `Scripts`, that of a virtual environment in it.
  const inScripts = path.basename(path.dirname(environment)).toLowerCase() === "scripts";
  return PYTHON.test(path.basename(environment))
    ? path.join(path.dirname(environment), WINDOWS && !inScripts ? BIN : "")
    : path.join(environment, BIN);
}

async function configured(around: Surroundings): Promise<Found> {
  const said = filledIn(around.setting, around);
  const candidates = path.isAbsolute(said)
    ? [said]
    : /[\\/]/.test(said)
      ? around.folders.map((folder) => path.join(folder, said))
      : [];
  for (const command of candidates) {
    if (await isExecutable(command)) {
      return found(command, "setting");
    }
  }
  const command = candidates.length > 0 ? undefined : await onPath(said, around);
  if (command !== undefined) {
    return found(command, "setting");
  }
  return {
    kind: "missing",
    message:
      `The setting \`xlalint.path\` names ${said}, which is no executable file. ` +
      "Correct it, or leave it empty to have xlalint looked for in the Python environment and on PATH.",
  };
}

function filledIn(text: string, around: Surroundings): string {
  return text
    .replace(/^~(?=$|[\\/])/, () => around.home)
    .replace(/\$\{workspaceFolder\}/g, () => around.folders[0] ?? "")
    .replace(/\$\{env:([^}]*)\}/g, (_, name: string) => around.variables[name] ?? "");
}

async function onPath(name: string, around: Surroundings): Promise<string | undefined> {
  // Windows spells the variable `Path`, and only the environment of the process itself reads it in either case.
  const folders = (around.variables.PATH ?? around.variables.Path ?? "").split(path.delimiter);
  for (const folder of folders.filter(path.isAbsolute)) {
    for (const suffix of WINDOWS && path.extname(name) === "" ? [".exe"] : [""]) {
      const command = path.join(folder, name + suffix);
      if (await isExecutable(command)) {
        return command;
      }
    }
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
  } catch {
    return false;
  }
  return await isFile(file);
}

async function isFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
