import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { LogOutputChannel } from "vscode";
import { activateWith, type Selection } from "../src/activation";
import type { Connection } from "../src/connection";
import { EventEmitter, log, reset, world } from "./vscode";

describe("the connection", { skip: process.platform === "win32" && "executables are scripts here" }, () => {
  let root: string;
  let happened: string[];
  let failure: Error | undefined;
  let selected: string[];
  let selection: EventEmitter<unknown>;

  beforeEach(() => {
    reset();
    root = mkdtempSync(path.join(tmpdir(), "xlalint-"));
    happened = [];
    failure = undefined;
    selected = [];
    selection = new EventEmitter();
    world.folders = [root];
    world.settings = { path: put("first/bin/xlalint") };
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function put(name: string): string {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, "");
    chmodSync(file, 0o755);
    return file;
  }

  function activate(): Promise<Connection> {
    return activateWith(
      { subscriptions: [] },
      log as unknown as LogOutputChannel,
      (command, args) => {
        const name = `${path.relative(root, command)} ${args.join(" ")}`;
        return {
          start: async () => {
            happened.push(`start ${name}`);
            if (failure !== undefined) {
              throw failure;
            }
          },
          stop: async () => void happened.push(`stop ${name}`),
          execute: async (what, given) => {
            happened.push(`execute ${what} ${given.join(" ")}`);
            if (failure !== undefined) {
              throw failure;
            }
            return "done";
          },
        };
      },
      { interpreters: async () => selected, onDidChange: selection.event } as unknown as Selection,
      { start: path.join(root, "bundled/start.py"), runsOn: async () => true },
    );
  }

  const configure = (name: string) =>
    world.configured.fire({ affectsConfiguration: (asked) => asked === `xlalint.${name}` });

  test("starts what is found, runs commands, and stops", async () => {
    const connection = await activate();
    assert.equal(await connection.execute("xlalint.fixAll", "uri"), "done");
    await connection.stop();
    assert.deepEqual(happened, [
      "start first/bin/xlalint server",
      "execute xlalint.fixAll uri",
      "stop first/bin/xlalint server",
    ]);
    assert.deepEqual(world.told, []);
  });

  test("starts nothing where it is switched off, and begins when it is switched on", async () => {
    world.settings.enable = false;
    const connection = await activate();
    assert.deepEqual([happened, world.told], [[], []]);
    world.settings.enable = true;
    configure("enable");
    assert.equal(await connection.execute("x"), "done");
    assert.deepEqual(happened, ["start first/bin/xlalint server", "execute x "]);
  });

  test("settings of the analysis restart nothing, those of the process do", async () => {
    const connection = await activate();
    configure("select");
    world.settings.args = ["server", "--stdio"];
    configure("args");
    await connection.execute("x");
    assert.deepEqual(happened, [
      "start first/bin/xlalint server",
      "stop first/bin/xlalint server",
      "start first/bin/xlalint server --stdio",
      "execute x ",
    ]);
  });

  test("another interpreter restarts the server only if it has another xlalint", async () => {
    world.settings = {};
    selected = [path.join(root, "first/bin/python")];
    const connection = await activate();
    selection.fire(undefined);
    await connection.execute("x");
    put("second/bin/xlalint");
    selected = [path.join(root, "second/bin/python")];
    selection.fire(undefined);
    await connection.execute("y");
    assert.deepEqual(happened, [
      "start first/bin/xlalint server",
      "execute x ",
      "stop first/bin/xlalint server",
      "start second/bin/xlalint server",
      "execute y ",
    ]);
  });

  test("what the extension brings along is started by an interpreter", async () => {
    put("bundled/start.py");
    selected = [put("env/bin/python3.12")];
    world.settings = {};
    const { PATH } = process.env;
    process.env.PATH = path.join(root, "nothing"); // an xlalint that is found there would come first
    try {
      await activate();
    } finally {
      process.env.PATH = PATH;
    }
    const [started] = happened;
    assert.equal(started, `start env/bin/python3.12 -I ${path.join(root, "bundled/start.py")} server`);
  });

  test("where there is none, one message says what to do, and the settings are one click away", async () => {
    world.settings = { path: "/nowhere/xlalint" };
    world.answer = "Open Settings";
    const connection = await activate();
    await connection.execute("x");
    assert.match(world.told[0] ?? "", /`xlalint\.path` names/);
    assert.deepEqual(world.told.slice(1), ["xlalint does not run."]);
    assert.deepEqual(world.executed, [["workbench.action.openSettings", "xlalint.path"]]);
    assert.deepEqual(happened, []);
  });

  test("a server that does not start says why, once, and may be tried again", async () => {
    failure = new Error("the language server needs pygls: pip install 'xlalint[server]'");
    const connection = await activate();
    assert.deepEqual(world.told, [`xlalint could not be started: ${failure.message}`]);
    assert.deepEqual(world.offered, [["Show Log", "Open Settings", "Try Again"]]);
    failure = undefined;
    await connection.restart();
    assert.equal(await connection.execute("x"), "done");
  });

  test("a command that fails is said to", async () => {
    const connection = await activate();
    failure = new Error("say which document: its URI");
    assert.equal(await connection.execute("x"), undefined);
    assert.deepEqual(world.told, ["xlalint: say which document: its URI"]);
  });

  test("restarts that overlap leave one server", async () => {
    const connection = await activate();
    await Promise.all([connection.restart(), connection.restart(), connection.stop()]);
    const count = (what: string) => happened.filter((one) => one.startsWith(what)).length;
    assert.deepEqual([count("start"), count("stop")], [3, 3]);
  });
});
