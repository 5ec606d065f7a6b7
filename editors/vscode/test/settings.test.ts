import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { WorkspaceConfiguration } from "vscode";
import schema from "../../../schemas/xlalint.json";
import manifest from "../package.json";
import { OF_THE_PROCESS, OF_THE_SERVER, processSettings, SECTION, serverSettings } from "../src/settings";
import { reset, workspace, world } from "./vscode";

type Property = { type?: string | string[]; enum?: unknown[]; default?: unknown; markdownDescription?: string };

const declared: Record<string, Property> = manifest.contributes.configuration.properties;
const options: Record<string, Property & { description: string }> = schema.properties;
const EDITORS_OWN = ["configuration", "isolated", "unsafeFixes", "inlayHints", "codeLens"];

beforeEach(reset);

function configuration(): WorkspaceConfiguration {
  return workspace.getConfiguration() as unknown as WorkspaceConfiguration;
}

test("the server is told what is set, and nothing of what is not: the project's configuration file says the rest", () => {
  assert.deepEqual(serverSettings(configuration()), {});
  world.settings = {
    target: "jax",
    select: ["XLA1"],
    showInfo: false,
    path: "/x",
    enable: true,
    python: "",
    device: null,
  };
  assert.deepEqual(serverSettings(configuration()), { target: "jax", select: ["XLA1"], showInfo: false, python: "" });
});

test("the folder's word wins over the workspace's, that over the user's; a default is nobody's word", () => {
  const said: Record<string, object> = {
    target: { defaultValue: "tf", globalValue: "jax", workspaceValue: "torch_xla", workspaceFolderValue: "torch_tpu" },
    device: { globalValue: "tpu", workspaceValue: "gpu" },
    ignore: { defaultValue: ["XLA1"] },
  };
  const inspected = { inspect: (name: string) => said[name] } as unknown as WorkspaceConfiguration;
  assert.deepEqual(serverSettings(inspected), { target: "torch_tpu", device: "gpu" });
});

test("the process is started by `xlalint server` if nothing else is said", () => {
  assert.deepEqual(processSettings(configuration()), { enable: true, path: "", args: ["server"] });
  world.settings = { path: " python3 ", args: ["-m", "xlalint", "server"], enable: false };
  assert.deepEqual(processSettings(configuration()), {
    enable: false,
    path: "python3",
    args: ["-m", "xlalint", "server"],
  });
});

test("the manifest declares exactly the settings that are read", () => {
  const read = [...OF_THE_PROCESS, ...OF_THE_SERVER.map((name) => `${SECTION}.${name}`), `${SECTION}.trace.server`];
  assert.deepEqual(Object.keys(declared).sort(), read.sort());
});

for (const name of OF_THE_SERVER.filter((one) => !EDITORS_OWN.includes(one))) {
  test(`${name} is declared as the configuration file's schema has it`, () => {
    const option = options[name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)];
    const setting = declared[`${SECTION}.${name}`];
    assert(option !== undefined && setting !== undefined);
    assert.equal(setting.markdownDescription, option.description);
    assert.deepEqual(setting.enum?.slice(0, -1), option.enum);
    const types: unknown[] = [setting.type].flat();
    assert(types.includes(option.enum === undefined ? option.type : "string"));
  });
}
