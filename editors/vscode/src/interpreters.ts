import { PythonExtension } from "@vscode/python-extension";
import { EventEmitter, extensions, type LogOutputChannel } from "vscode";
import type { Selection } from "./activation";

/** The selection of Microsoft's Python extension; where that is not installed, none. */
export async function pythonExtension(log: LogOutputChannel): Promise<Selection> {
  try {
    if (extensions.getExtension("ms-python.python") !== undefined) {
      const { environments } = await PythonExtension.api();
      return {
        interpreters: async (folders) =>
          (folders.length > 0 ? folders : [undefined]).map(
            (folder) => environments.getActiveEnvironmentPath(folder).path,
          ),
        onDidChange: environments.onDidChangeActiveEnvironmentPath,
      };
    }
  } catch (error) {
    log.warn(`the Python extension does not say which interpreter is selected: ${error}`);
  }
  return { interpreters: async () => [], onDidChange: new EventEmitter<never>().event };
}
