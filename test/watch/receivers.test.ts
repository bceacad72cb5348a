import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { callbackify } from "node:util";
import { SMTPServer } from "smtp-server";
import { cleanUp } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { startReceiver, startWatch, type WatchRig } from "./watch-rig.ts";

/** Has three alerts begin, of which an action is to be told. */
async function tell(t: TestContext, action: string, mayRun = false): Promise<WatchRig> {
  const rule = "{name: many, by: [flow.dst.ip.addr], measure: bits_per_second, over: 5s, when: '> 1M', act: [noc]}";
  const rig = await startWatch(t, `rules:\n  - ${rule}\nactions:\n  noc: {${action}, ended: false}\n`, { mayRun });
  assert.deepEqual(rig.faults.filter(Boolean), []);
  rig.take(["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((dst) => ({ dst, bytes: 1_000_000 })));
  rig.pass(1);
  return rig;
}

const stateOf = (rig: WatchRig) => rig.watch.status().actions[0];

/** Waits until three notices were taken, and nothing waits. */
async function untilTold(rig: WatchRig): Promise<void> {
  await until("all are told", () => stateOf(rig)?.sent === 3 && stateOf(rig)?.waiting === 0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
}

/** A mail server. @param answer the error that it answers to a message with; undefined: it takes it. */
async function startMail(
  t: TestContext,
  port: number,
  answer: (mail: Mail) => Promise<Error | undefined> = async () => undefined,
  options: object = {},
): Promise<Mail[]> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    ...options,
    onData(stream, session, callback) {
      const take = async (): Promise<Error | null> => {
        let text = "";
        for await (const part of stream) text += String(part);
        const { mailFrom, rcptTo } = session.envelope;
        const mail = { from: mailFrom === false ? "" : mailFrom.address, to: rcptTo.map((to) => to.address), text };
        const error = await answer(mail);
        if (error === undefined) mails.push(mail);
        return error ?? null;
      };
      callbackify(take)((failed: Error | null, error) => callback(failed ?? error));
    },
  });
  server.on("error", () => {});
  server.listen(port, "127.0.0.1");
  await once(server.server, "listening");
  cleanUp(t, () => server.close());
  return mails;
}

const refusal = (responseCode: number): Error => Object.assign(new Error("no"), { responseCode });
const emailTo = (port: number, more = ""): string =>
  `email: {server: 'smtp://127.0.0.1:${port}', from: netgloss@example.com, to: [noc@example.com, boss@example.com]${more}}`;

describe("e-mail", () => {
  test("a server that is away gets one message for all once it is back", async (t) => {
    const port = await freePort();
    const rig = await tell(t, emailTo(port));
    await until("a try", () => stateOf(rig)?.failures === 1);
    assert.match(stateOf(rig)?.fault ?? "", /the mail server: .*ECONNREFUSED/);
    const mails = await startMail(t, port);
    await untilTold(rig);
    assert.equal(mails.length, 1);
    const [mail] = mails;
    assert.deepEqual([mail?.from, mail?.to], ["netgloss@example.com", ["noc@example.com", "boss@example.com"]]);
    assert.match(mail?.text ?? "", /^Subject: 3 notices: ALERT: many: 10\.0\.0\.1 is at/m);
    assert.match(mail?.text ?? "", /^Message-ID: <alert\S+-firing-3@example\.com>/m);
    assert.match(mail?.text ?? "", /^Auto-Submitted: auto-generated/m);
    for (const host of ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
      assert.match(mail?.text ?? "", new RegExp(`^ALERT: many: ${host}`, "m"));
  });

  test("a server that is slow, or refuses for a while, gets it once", async (t) => {
    const port = await freePort();
    let tries = 0;
    const mails = await startMail(t, port, async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return ++tries === 1 ? refusal(451) : undefined;
    });
    await untilTold(await tell(t, emailTo(port)));
    assert.equal(mails.length, 1);
  });

  test("a message that is refused for its content holds up no other", async (t) => {
    const port = await freePort();
    const mails = await startMail(t, port, async ({ text }) => (text.includes("10.0.0.2") ? refusal(554) : undefined));
    const rig = await tell(t, emailTo(port));
    await until("the others", () => stateOf(rig)?.sent === 2 && stateOf(rig)?.aside === 1);
    assert.ok(mails.every(({ text }) => !text.includes("10.0.0.2")));
  });

  test("values of devices make no lines and no headers of their own", async (t) => {
    const port = await freePort();
    const mails = await startMail(t, port);
    const rule = "{name: links, of: snmp, by: [netif.name], measure: value netif.load, when: '> 1', act: [noc]}";
    const rig = await startWatch(t, `rules:\n  - ${rule}\nactions:\n  noc: {${emailTo(port)}}\n`);
    const name = "eth0\r\nBcc: eve@example.com\r\n\r\nover: all is well\u2028over: it is\u202e";
    rig.takeOthers([{ "snmp.object.name": "netif", "netif.name": name, "netif.load": 5 }]);
    rig.pass(1);
    await until("it is told", () => mails.length === 1);
    assert.deepEqual(mails[0]?.to, ["noc@example.com", "boss@example.com"]);
    assert.doesNotMatch(mails[0]?.text ?? "", /^(Bcc|over):/m);
    assert.equal(
      rig.in("firing")[0]?.text,
      "links: eth0 Bcc: eve@example.com over: all is well over: it is  is at 5 netif.load",
    );
  });

  test("one who is refused for a while gets it later, and nobody twice", async (t) => {
    const port = await freePort();
    let tries = 0;
    const mails = await startMail(t, port, undefined, {
      onRcptTo({ address }: { address: string }, _session: unknown, callback: (error?: Error) => void) {
        callback(address.startsWith("boss") && ++tries === 1 ? refusal(450) : undefined);
      },
    });
    await untilTold(await tell(t, emailTo(port)));
    assert.deepEqual(
      mails.map(({ to }) => to),
      [["noc@example.com"], ["boss@example.com"]],
    );
  });

  test("of several one who is refused for good holds up nobody", async (t) => {
    const port = await freePort();
    const mails = await startMail(t, port, undefined, {
      onRcptTo({ address }: { address: string }, _session: unknown, callback: (error?: Error) => void) {
        callback(address.startsWith("boss") ? refusal(550) : undefined);
      },
    });
    await untilTold(await tell(t, emailTo(port)));
    assert.equal(mails.length, 1);
  });

  test("a stop leaves no connection to a server that says nothing", async (t) => {
    const sockets = new Set<object>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
      socket.resume();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanUp(t, () => void server.close());
    const rig = await tell(t, emailTo((server.address() as AddressInfo).port));
    await until("it is asked", () => sockets.size === 1);
    await rig.watch.stop();
    await until("it is left", () => sockets.size === 0);
  });

  test("smtps is TLS from the first byte", async (t) => {
    let first: number | undefined;
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (part) => {
        first = part[0];
        socket.destroy();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanUp(t, () => void server.close());
    const rig = await tell(t, emailTo((server.address() as AddressInfo).port).replace("smtp:", "smtps:"));
    await until("a try", () => stateOf(rig)?.failures === 1);
    assert.equal(first, 22);
  });

  test("credentials are not sent without TLS", async (t) => {
    const port = await freePort();
    let isAsked = false;
    await startMail(t, port, undefined, {
      disabledCommands: ["STARTTLS"],
      allowInsecureAuth: true,
      onAuth(_auth: unknown, _session: unknown, callback: (error: Error | null, answer?: object) => void) {
        isAsked = true;
        callback(null, { user: "x" });
      },
    });
    const rig = await tell(t, emailTo(port, ", user: u, password: 'a secret'"));
    await until("a try", () => stateOf(rig)?.failures === 1);
    assert.equal(isAsked, false);
    assert.match(stateOf(rig)?.fault ?? "", /the mail server: /);
    assert.doesNotMatch(stateOf(rig)?.fault ?? "", /a secret/);
  });
});

test("a receiver by HTTP that is away, then refuses for a while, then is slow, gets it once, in each format", async (t) => {
  const formats = ["json", "text", "slack", "teams"].map((format) => `webhook: {url: 'URL', format: ${format}}`);
  await Promise.all(
    [...formats, "alertmanager: {url: 'URL'}"].map(async (action) => {
      const port = await freePort();
      const rig = await tell(t, action.replace("URL", `http://127.0.0.1:${port}`));
      await until("a try", () => (stateOf(rig)?.failures ?? 0) > 0);
      assert.match(stateOf(rig)?.fault ?? "", /refuses connections/, action);
      const receiver = await startReceiver(t, port);
      receiver.status = 503;
      await until("a refusal", () => receiver.received.length > 0);
      let answer = (): void => {};
      receiver.ready = new Promise((resolve) => (answer = resolve));
      receiver.status = 200;
      const taken = () => receiver.received.filter(({ answered }) => answered === 200);
      await until("it is there", () => taken().length === 1);
      rig.pass(1);
      answer();
      await untilTold(rig);
      rig.pass(3);
      assert.equal(taken().length, 1, action);
      for (const host of [1, 2, 3]) assert.match(taken()[0]?.body ?? "", new RegExp(`10\\.0\\.0\\.${host}`), action);
    }),
  );
});

describe("syslog", () => {
  test("a receiver that is away gets a message for each once it is back", async (t) => {
    const port = await freePort();
    const rig = await tell(t, `syslog: {address: '127.0.0.1:${port}', facility: local3}`);
    await until("a try", () => stateOf(rig)?.failures === 1);
    let received = "";
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("data", (part) => (received += part.toString()));
      socket.on("end", () => socket.end());
    }).listen(port, "127.0.0.1");
    cleanUp(t, () => void server.close());
    await untilTold(rig);
    const messages = received.split(/(?<!\d)(?=\d+ <156>1 )/);
    assert.deepEqual(
      messages.map(
        (message) => (JSON.parse(message.slice(message.indexOf("{"))) as Record<string, unknown>)["alert.key"],
      ),
      [1, 2, 3].map((i) => [`flow.dst.ip.addr=10.0.0.${i}`]),
    );
  });
});

test("a receiver of syslog that breaks off, then is slow, gets a message for each once it takes them", async (t) => {
  const received: string[] = [];
  let end = (): void => {};
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const at = received.push("") - 1;
    socket.on("error", () => {});
    socket.on("data", (part) => {
      received[at] += part.toString();
      if (at === 0) socket.resetAndDestroy();
    });
    socket.on("end", () => (end = () => void socket.end()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => void server.close());
  const rig = await tell(t, `syslog: {address: '127.0.0.1:${(server.address() as AddressInfo).port}'}`);
  await until("three messages", () => received[1]?.split("<132>1 ").length === 4);
  assert.equal(stateOf(rig)?.sent, 0);
  rig.pass(1);
  await until("they are taken", () => (end(), stateOf(rig)?.sent === 3));
  rig.pass(3);
  assert.deepEqual([received.length, stateOf(rig)?.waiting], [2, 0]);
});

describe("a command", () => {
  /** A program of Node that a rule may run. */
  function program(t: TestContext, source: string): { readonly run: string; readonly folder: string } {
    const folder = tempDirectory(t);
    writeFileSync(join(folder, "tell.cjs"), source);
    return {
      folder,
      run: `command: {run: ['${process.execPath}', '${join(folder, "tell.cjs")}', '; touch x', '$HOME'], timeout: 120s}`,
    };
  }

  test("gets its arguments as they are and notices as its input, once it works", async (t) => {
    const { run, folder } = program(
      t,
      `const fs = require("fs"), dir = __dirname;
       let input = ""; process.stdin.on("data", (part) => (input += part)).on("end", () => {
         if (!fs.existsSync(dir + "/second")) { fs.writeFileSync(dir + "/second", ""); console.error("not\\x1byet"); process.exit(3); }
         fs.appendFileSync(dir + "/out", JSON.stringify({ argv: process.argv.slice(2), env: Object.keys(process.env), input: JSON.parse(input) }) + "\\n");
       });`,
    );
    const rig = await tell(t, run, true);
    await until("a failure", () => stateOf(rig)?.fault?.endsWith("ended with exit code 3: not yet"));
    await untilTold(rig);
    const lines = readFileSync(join(folder, "out"), "utf8").trim().split("\n");
    assert.equal(lines.length, 1);
    const { argv, env, input } = JSON.parse(lines[0] ?? "") as {
      argv: string[];
      env: string[];
      input: { notices: unknown[] };
    };
    assert.deepEqual(argv, ["; touch x", "$HOME"]);
    assert.deepEqual(
      env.filter((name) => !["PATH", "LANG", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"].includes(name)),
      [],
    );
    assert.equal(input.notices.length, 3);
  });

  test("one that is not there as yet runs once it is", async (t) => {
    const path = join(tempDirectory(t), "later");
    const rig = await tell(t, `command: {run: ['${path}']}`, true);
    await until("a failure", () => /later cannot be run: .*ENOENT/.test(stateOf(rig)?.fault ?? ""));
    writeFileSync(`${path}.new`, `#!/bin/sh\nsleep 0.3\ncat >> '${path}.out'\n`, { mode: 0o755 });
    renameSync(`${path}.new`, path);
    await untilTold(rig);
    rig.pass(3);
    assert.equal(readFileSync(`${path}.out`, "utf8").trim().split("\n").length, 1);
  });

  test("one that hangs is killed, with what it has started", async (t) => {
    const { run, folder } = program(
      t,
      `const child = require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
       require("fs").writeFileSync(__dirname + "/pid", String(child.pid)); setInterval(() => {}, 1000);`,
    );
    const rig = await tell(t, run.replace("timeout: 120s", "timeout: 2s"), true);
    await until("it is killed", () => /took longer than 2 s and was killed/.test(stateOf(rig)?.fault ?? ""));
    const pidFile = join(folder, "pid");
    if (!existsSync(pidFile)) return;
    const pid = Number(readFileSync(pidFile, "utf8"));
    await until("its child, too", () => isGone(pid));
  });

  test("is refused where settings do not allow it, or its path is none", async (t) => {
    for (const [run, mayRun, fault] of [
      ["command: {run: [/bin/true]}", false, /action noc: commands are off: SVC_WATCH_COMMANDS_ENABLE/],
      ["command: {run: ['true']}", true, /the program needs an absolute path/],
    ] as const) {
      const rig = await startWatch(t, `actions:\n  noc: {${run}}\n`, { mayRun });
      assert.match(rig.faults[0] ?? "", fault);
    }
  });
});

/** A zombie is gone, too. */
function isGone(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

describe("letters", () => {
  const letter = {
    id: "morning-20261127T0600",
    subject: "Morning: 2026-11-26",
    text: "All: 1.23 Mbit/s",
    html: "<!DOCTYPE html><p>All: 1.23 Mbit/s</p>",
    files: [{ name: "talkers.csv", type: "text/csv", content: "bytes\r\n1\r\n" }],
  };
  const actions = (more: string): string => `rules: []\nactions:\n  noc: {${more}}\n`;

  test("by mail: a server that is away, then refuses for a while, gets it once, with its files and the same id", async (t) => {
    const port = await freePort();
    const rig = await startWatch(t, actions(emailTo(port)));
    assert.deepEqual(rig.watch.alerting.notifier.letterActions(), ["noc"]);
    const posted = rig.watch.alerting.notifier.post("noc", letter);
    await until("a try", () => stateOf(rig)?.failures === 1);
    const tried: string[] = [];
    const mails = await startMail(t, port, async ({ text }) => (tried.push(text) === 1 ? refusal(451) : undefined));
    assert.equal(await posted, undefined);
    assert.equal(mails.length, 1);
    for (const text of tried) assert.match(text, /^Message-ID: <morning-20261127T0600@example\.com>/m);
    assert.match(mails[0]?.text ?? "", /^Subject: Morning: 2026-11-26/m);
    assert.match(mails[0]?.text ?? "", /multipart\/alternative[^]*text\/html[^]*filename=talkers\.csv/);
  });

  test("to a webhook, alone between notices, with its id; one that is refused for its content is given up", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 503;
    const rig = await tell(t, `webhook: {url: '${receiver.url}'}`);
    const posted = rig.watch.alerting.notifier.post("noc", letter);
    await until("a try", () => receiver.received.length > 0);
    receiver.status = 200;
    assert.equal(await posted, undefined);
    const taken = receiver.received.filter(({ answered }) => answered === 200);
    const bodies = taken.map(({ body }) => Object.keys(JSON.parse(body) as object).join());
    assert.deepEqual(bodies, ["notices", "report"]);
    assert.equal(taken[1]?.headers["idempotency-key"], letter.id);
    receiver.longest = 10;
    assert.match((await rig.watch.alerting.notifier.post("noc", { ...letter, id: "large" })) ?? "", /413/);
  });

  test("to a webhook that fails, then is slow: it is sent once", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 503;
    const rig = await startWatch(t, actions(`webhook: {url: '${receiver.url}'}`));
    const posted = rig.watch.alerting.notifier.post("noc", letter);
    await until("a try", () => stateOf(rig)?.failures === 1);
    receiver.status = 200;
    let answer = (): void => {};
    receiver.ready = new Promise((resolve) => (answer = resolve));
    const tries = receiver.received.length;
    await until("another try", () => receiver.received.length > tries);
    await new Promise((resolve) => setTimeout(resolve, 500));
    answer();
    assert.equal(await posted, undefined);
    assert.deepEqual(
      receiver.received.map(({ answered }) => answered).filter((status) => status === 200),
      [200],
    );
    for (const { headers } of receiver.received) assert.equal(headers["idempotency-key"], letter.id);
  });

  test("one that cannot be sent holds up no notice", async (t) => {
    const receiver = await startReceiver(t);
    receiver.refuses = (body) => (body.startsWith('{"report"') ? 503 : undefined);
    const rule = "{name: many, by: [flow.dst.ip.addr], measure: bits_per_second, over: 5s, when: '> 1M', act: [noc]}";
    const rig = await startWatch(t, `rules: [${rule}]\n${actions(`webhook: {url: '${receiver.url}'}`).slice(10)}`);
    const posted = rig.watch.alerting.notifier.post("noc", letter);
    await until("a try", () => stateOf(rig)?.failures === 1);
    rig.take([{ dst: "10.0.0.1", bytes: 1_000_000 }]);
    rig.pass(1);
    await until("the notice is taken", () => stateOf(rig)?.sent === 1);
    receiver.refuses = () => undefined;
    assert.equal(await posted, undefined);
  });

  test("one that waits can be taken back; an action that has gone, changed or takes none leaves it to who posts it", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 503;
    const webhook = `webhook: {url: '${receiver.url}'}`;
    const rig = await startWatch(t, actions(webhook));
    const taken = rig.watch.alerting.notifier.post("noc", letter);
    await until("a try", () => stateOf(rig)?.failures === 1);
    rig.watch.alerting.notifier.takeBackLetter(letter.id);
    await assert.rejects(taken, /taken back/);
    const changed = rig.watch.alerting.notifier.post("noc", letter);
    await rig.write(actions(`${webhook}, ended: false`));
    await assert.rejects(changed, /its action has changed/);
    await assert.rejects(rig.watch.alerting.notifier.post("none", letter), /no action none/);
    await rig.write(actions("syslog: {address: '127.0.0.1:9'}"));
    await assert.rejects(rig.watch.alerting.notifier.post("noc", letter), /no action noc that takes letters/);
  });
});
