// Bytes that nobody sends by accident. Each is refused, and the server goes on serving.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { test } from "node:test";
import { contractPath, postJson, startApi } from "./api-fixture.ts";
import { restOutcome } from "./udm-clients.ts";
import { envelope, exchange, openHttp2, openRaw, postHttp2 } from "./raw-http.ts";
import { cleanUp } from "../support/clean-up.ts";

const rpc = `${contractPath}/CreateUdm`;
const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

test("JSON that is not, or not quite", async (t) => {
  const { url, store } = await startApi(t, { maxBodyBytes: 20_000_000 });
  const million = 1_000_000;
  const bodies: readonly [string, Uint8Array | string, RegExp][] = [
    ["nested a million times", `{"udm":${"[".repeat(million)}`, /nested deeper than 64 levels/],
    ["nested objects", `{"udm":{"metadata":${'{"a":'.repeat(million / 5)}`, /nested deeper than 64 levels/],
    ["empty", "", /line 1, column 1: expected a value, found the end/],
    ["a NUL byte", bytesOf('{"udm":{"key":"10.0.0.1"}}\0'), /unexpected "\\u0000" after the value/],
    ["a NUL byte in a string", bytesOf('{"udm":{"key":"10.0.0.1\0"}}'), /a control character must be escaped/],
    ["an escaped NUL", '{"udm":{"key":"10.0.0.1","name":"\\u0000"}}', /control character/],
    ["invalid UTF-8", bytesOf('{"udm":{"key":"\xff"}}'), /not valid UTF-8/],
    ["an overlong form", bytesOf('{"udm":{"key":"\xc0\xaf"}}'), /not valid UTF-8/],
    ["a lone surrogate", '{"udm":{"name":"\\ud800"}}', /lone surrogate/],
    ["a name twice", '{"udm":{"key":"10.0.0.1","key":"10.0.0.2"}}', /line 1, column 26: the name "key" is given twice/],
    ["a mistyped mask", '{"udm":{"key":"10.0.0.1"},"update_msak":"name"}', /unknown field "update_msak"/],
    ["a field of another message", '{"key":"10.0.0.1"}', /unknown field "key": expected one of "udm"/],
    ["an array", "[]", /must be an object/],
    ["null", "null", /must be an object/],
    ["a number as a name", '{"udm":{"key":"10.0.0.1","name":5}}', /udm\.name: must be a string/],
    ["__proto__ as a field", '{"__proto__":{"udm":{"key":"10.0.0.1"}}}', /unknown field "__proto__"/],
    ["constructor as a field", '{"udm":{"constructor":1}}', /udm: unknown field "constructor"/],
    ["a number in metadata", '{"udm":{"key":"10.0.0.1","metadata":{"a":1}}}', /udm\.metadata\["a"\]: must be a string/],
    ["a tag that is none", '{"udm":{"key":"10.0.0.1","tags":["a",{}]}}', /udm\.tags\[1\]: must be a string/],
    ["two values", '{"udm":{}}{}', /unexpected "\{" after the value/],
    ["a comment", '{/**/"udm":{}}', /expected a name in quotes/],
    ["a trailing comma", '{"udm":{},}', /expected a name in quotes/],
    ["a string that does not end", '{"udm":{"key":"', /line 1, column 15: the string does not end/],
    ["a position further down", '{\n "udm": {\n  "vlan": tru\n }}', /line 3, column 11/],
  ];
  for (const [name, body, expected] of bodies) {
    const sent = await post(url + rpc, Buffer.from(body as string));
    assert.equal(sent.status, 400, name);
    assert.match((sent.body as { message: string }).message, expected, name);
  }
  assert.equal(store.current().size, 0);
});

test("all wrong types of a request are reported in one answer, with their paths", async (t) => {
  const { url, store } = await startApi(t, { maxBodyBytes: 20_000_000 });
  const refusal = async (method: string, body: unknown): Promise<{ message: string; fields: string[] }> => {
    const answer = await postJson(`${url}${contractPath}/${method}`, body);
    assert.deepEqual([answer.status, answer.body["code"]], [400, "invalid_argument"]);
    const { message, fields } = restOutcome(answer.status, JSON.stringify(answer.body)) as never;
    return { message, fields };
  };
  const udm = {
    key: 1,
    name: "n",
    tags: ["a", 2, null],
    vlan: "x",
    internal: "yes",
    metadata: { a: 1, b: "c", d: [] },
  };
  const ofOne = ["key", "tags[1]", "tags[2]", "vlan", "internal", 'metadata["a"]', 'metadata["d"]'];
  assert.deepEqual(await refusal("CreateUdm", { udm }), {
    message: "udm.key: must be a string (and 6 more)",
    fields: ofOne.map((field) => `udm.${field}`),
  });
  const good = { udm: { key: "10.0.0.1" } };
  const requests = [good, { udm }, { udm: 7 }, good, { udn: {} }, { udm: { key: "10.0.0.2", vlan: -1 } }];
  const expected = [
    ...ofOne.map((field) => `requests[1].udm.${field}`),
    "requests[2].udm",
    "requests[4]",
    "requests[5].udm.vlan",
  ];
  for (const padding of ["", " ".repeat(70_000)]) {
    const text = JSON.stringify({ requests }).replace("{", `{${padding}`);
    assert.deepEqual((await refusal("BatchCreateUdms", text)).fields, expected, "also when read in turns");
  }
  const many = Array.from({ length: 5_000 }, () => ({ udm: { key: "10.0.0.1", vlan: "x" } }));
  for (const count of [150, 5_000]) {
    const { message, fields } = await refusal("BatchUpdateUdms", { requests: many.slice(0, count) });
    assert.equal(fields.length, 100);
    assert.equal(fields.at(-1), "requests[99].udm.vlan");
    assert.equal(message, 'requests[0].udm.vlan: "x" is not an integer (and 99 more)');
  }
  assert.equal(store.current().size, 0);
});

test("vlan is exact, as a number or a string, and never anything else", async (t) => {
  const { url } = await startApi(t);
  const vlanOf = async (literal: string): Promise<unknown> => {
    const { status, body } = await postJson(
      `${url}${contractPath}/CreateUdm`,
      `{"udm":{"key":"10.0.0.1","vlan":${literal}}}`,
    );
    if (status !== 200) return body["message"];
    await postJson(`${url}${contractPath}/DeleteUdm`, { key: "10.0.0.1" });
    return body["vlan"];
  };
  const big = "18446744073709551615";
  for (const literal of [big, `"${big}"`, "18446744073709551615.0", "1844674407370955161.5e1", `${big}000e-3`]) {
    assert.equal(await vlanOf(literal), big, literal);
  }
  assert.equal(await vlanOf("9007199254740993"), "9007199254740993");
  assert.equal(await vlanOf("1e3"), "1000");
  for (const zero of ["0", "-0", "0.0", "0e999999999", '"0"', "null"])
    assert.equal(await vlanOf(zero), undefined, zero);
  for (const bad of ["18446744073709551616", "-1", "1e999999999999", '"18446744073709551616"', "1e20"]) {
    assert.match(String(await vlanOf(bad)), /udm\.vlan: .* is not within 0 to 18446744073709551615/, bad);
  }
  for (const bad of ["1.5", "1e-1", "1e-999999999", '""', '" 1"', '"0x10"', '"ten"']) {
    // As it was written: a number without quotes.
    assert.equal(await vlanOf(bad), `udm.vlan: ${bad} is not an integer`);
  }
  for (const bad of ["true", "[]", "{}"]) assert.match(String(await vlanOf(bad)), /must be a number or a string/, bad);
  for (const bad of ["01", "+1", ".5", "1.", "NaN", "Infinity", "0x10"]) {
    assert.match(String(await vlanOf(bad)), /malformed JSON/, bad);
  }
});

test("texts that take a poor expression for ever", async (t) => {
  const { url } = await startApi(t, {
    maxBodyBytes: 20_000_000,
    basicAuth: { username: "u", password: "p" },
  });
  const authorization = `Basic ${Buffer.from("u:p").toString("base64")}`;
  for (let i = 0; i < 200; i++) {
    const blanks = { authorization: `Basic ${" ".repeat(15_000)}!` };
    assert.equal((await fetch(`${url}/openapi.json`, { headers: blanks })).status, 401);
  }
  const headers = { authorization, "content-type": "application/json" };
  const digits = `1${"0".repeat(900_000)}1`;
  for (const vlan of [digits, `"${digits}"`]) {
    const body = `{"udm":{"key":"10.0.0.1","vlan":${vlan}}}`;
    assert.equal((await fetch(url + rpc, { method: "POST", headers, body })).status, 400);
  }
  // Base64, of which each group of four would be a step of a pattern.
  const message = envelope(`{"requests":[${"{},".repeat(3_000_000)}{}]}`);
  const answer = await fetch(`${url}${contractPath}/BatchCreateUdms`, {
    method: "POST",
    headers: { authorization, "content-type": "application/grpc-web-text+json" },
    body: message.toString("base64"),
  });
  assert.match(Buffer.from(await answer.text(), "base64").toString(), /grpc-status: 8|grpc-status: 3/);
});

test("both forms of the mask, both spellings of names, and what is wrong with others", async (t) => {
  const { url } = await startApi(t);
  const udm = { key: "10.0.0.1", name: "n", tags: ["t"] };
  await postJson(url + rpc, { udm });
  const update = async (rest: string): Promise<unknown> => {
    const body = `{"udm":{"key":"10.0.0.1","name":"m"}${rest}}`;
    const answer = await postJson(`${url}${contractPath}/UpdateUdm`, body);
    return answer.status === 200 ? answer.body : answer.body["message"];
  };
  const masks = ['"name"', '" name , key "', '{"paths":["name"]}', '"name,name"'];
  for (const mask of masks) {
    for (const name of ["update_mask", "updateMask"]) {
      await postJson(`${url}${contractPath}/UpdateUdm`, { udm });
      assert.deepEqual(await update(`,"${name}":${mask}`), { ...udm, name: "m" }, mask);
    }
  }
  for (const all of [
    "",
    ',"update_mask":""',
    ',"update_mask":" "',
    ',"update_mask":"*"',
    ',"update_mask":{}',
    ',"update_mask":null',
  ]) {
    await postJson(`${url}${contractPath}/UpdateUdm`, { udm });
    assert.deepEqual(await update(all), { key: "10.0.0.1", name: "m" }, all);
  }
  assert.match(String(await update(',"update_mask":"name,,tags"')), /"" is not a field/);
  assert.match(String(await update(',"update_mask":"metadata..site"')), /"metadata\.\.site" is a path below a field/);
  assert.match(String(await update(',"update_mask":"*,name"')), /"\*" must stand alone/);
  assert.match(String(await update(',"update_mask":["name"]')), /update_mask: must be a string/);
  assert.match(String(await update(',"update_mask":{"path":["name"]}')), /unknown field "path": expected "paths"/);
  assert.match(String(await update(',"update_mask":"name","updateMask":"name"')), /are the same field/);
  const ignored = { requests: [{ udm: { key: "10.0.0.1", name: "m" }, update_mask: { nonsense: [1] } }] };
  assert.equal((await postJson(`${url}${contractPath}/BatchUpdateUdms`, ignored)).status, 200);
});

test("unknown fields are ignored when the setting says so, duplicates never", async (t) => {
  const { url } = await startApi(t, { unknownFields: "ignore" });
  assert.equal((await postJson(url + rpc, { udm: { key: "10.0.0.1", colour: "red" }, more: 1 })).status, 200);
  assert.equal((await postJson(url + rpc, '{"udm":{"key":"10.0.0.2","x":1,"x":2}}')).status, 400);
});

test("JSON in the envelope of gRPC is as exact and as strict", async (t) => {
  const { url, store } = await startApi(t);
  const session = openHttp2(t, url);
  const call = async (method: string, json: string, type = "application/grpc+json") => {
    const answer = await postHttp2(session, `${contractPath}/${method}`, type, envelope(json));
    const status = answer.trailers?.["grpc-status"] ?? answer.headers["grpc-status"];
    return { status, message: answer.trailers?.["grpc-message"] ?? answer.headers["grpc-message"], body: answer.body };
  };
  const created = await call("CreateUdm", '{"udm":{"key":"10.0.0.1","vlan":18446744073709551615}}');
  assert.equal(created.status, "0");
  assert.deepEqual(JSON.parse(created.body.subarray(5).toString()), { key: "10.0.0.1", vlan: "18446744073709551615" });
  const mask = '{"udm":{"key":"10.0.0.1","name":"n"},"update_mask":{"paths":["name"]}}';
  assert.equal((await call("UpdateUdm", mask)).status, "0");
  assert.equal((await call("CreateUdm", '{"udm":{"key":"10.0.0.2","key":"10.0.0.3"}}')).status, "3");
  assert.match(String((await call("CreateUdm", '{"udn":{}}')).message), /unknown field "udn"/);
  assert.equal([...store.current().entries()][0]?.name, "n");
});

test("messages that are not protobuf", async (t) => {
  const { url } = await startApi(t);
  const session = openHttp2(t, url);
  const groups = Buffer.concat(Array<Buffer>(1_000_000).fill(Buffer.from([0x1b])));
  const invalidUtf8 = Buffer.from([0x0a, 0x03, 0x0a, 0x01, 0xff]);
  const promised = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]);
  for (const message of [groups.subarray(0, 1_000_000), invalidUtf8, promised, randomBytes(500)]) {
    const grpc = await postHttp2(session, rpc, "application/grpc", envelope(message));
    assert.notEqual(grpc.trailers?.["grpc-status"] ?? grpc.headers["grpc-status"], "0");
    const connect = await postHttp2(session, rpc, "application/proto", message);
    assert.ok((connect.status ?? 0) >= 400);
  }
  for (const body of [Buffer.alloc(3), Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), Buffer.from([0x7f, 0, 0, 0, 0])]) {
    const broken = await postHttp2(session, rpc, "application/grpc", body);
    assert.notEqual(broken.trailers?.["grpc-status"] ?? broken.headers["grpc-status"], "0");
  }
});

test("headers without measure", async (t) => {
  const { port, url, metrics } = await startApi(t);
  const many = Array.from({ length: 20_000 }, (_, i) => `X-${i}: y\r\n`).join("");
  assert.match(await exchange(t, port, `GET /livez HTTP/1.1\r\nHost: localhost\r\n${many}\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await exchange(t, port, `GET /${"x".repeat(1_000_000)} HTTP/1.1\r\n\r\n`), /^HTTP\/1\.1 431 /);
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "headers" }), 2);
  const session = connectHttp2(url);
  cleanUp(t, () => session.destroy());
  session.on("error", () => {});
  const stream = session.request({
    ":path": "/livez",
    ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x-${i}`, "y"])),
  });
  await new Promise((resolve) => {
    stream.on("error", resolve);
    stream.on("close", resolve);
  });
  assert.equal((await fetch(`${url}/livez`)).status, 200);
});

test("noise on the wire while others are served", async (t) => {
  const { port, url, metrics } = await startApi(t, {
    limits: { headersTimeout: 1500, idleTimeout: 4000, stallTimeout: 4000 },
  });
  const preface = bytesOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const noise = Array.from({ length: 60 }, (_, i) => {
    const raw = openRaw(t, port);
    const bytes = randomBytes(300);
    raw.socket.write(i % 3 === 0 ? Buffer.concat([preface, bytes]) : bytes);
    if (i % 2 === 0) raw.socket.end();
    return raw.closed;
  });
  for (let i = 0; i < 20; i++) assert.equal((await fetch(`${url}/livez`)).status, 200);
  await Promise.all(noise);
  assert.equal((await metrics.value("netgloss_api_failures_total")) ?? 0, 0);
});

test("streams that are gone before they are answered", async (t) => {
  const { url, store, metrics } = await startApi(t);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  store.beforeCommit = () => held;
  const session = openHttp2(t, url);
  const types = ["application/json", "application/grpc", "application/grpc-web", "application/proto"];
  const key = Buffer.from([0x0a, 0x0a, 0x0a, 0x08, ...Buffer.from("10.0.0.1")]);
  const closed = types.map((type) => {
    const stream = session.request({ ":method": "POST", ":path": rpc, "content-type": type });
    stream.on("error", () => {});
    stream.end(type.endsWith("json") ? '{"udm":{"key":"10.0.0.1"}}' : type.endsWith("proto") ? key : envelope(key));
    setTimeout(() => stream.close(8), 100);
    return new Promise((resolve) => stream.on("close", resolve));
  });
  await Promise.all(closed);
  release();
  session.close();
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  assert.equal((await metrics.value("netgloss_api_failures_total")) ?? 0, 0);
});

test("a fault of ours is answered without its inner words, logged and counted", async (t) => {
  const { url, store, metrics, lines } = await startApi(t);
  store.beforeCommit = () => Promise.reject(new Error("secret inner words"));
  const rest = await postJson(url + rpc, { udm: { key: "10.0.0.1" } });
  assert.deepEqual([rest.status, rest.body["code"], rest.body["message"]], [500, "internal", "internal error"]);
  const key = Buffer.from([0x0a, 0x0a, 0x0a, 0x08, ...Buffer.from("10.0.0.1")]);
  const grpc = await postHttp2(openHttp2(t, url), rpc, "application/grpc", envelope(key));
  assert.equal(grpc.headers["grpc-status"] ?? grpc.trailers?.["grpc-status"], "13");
  assert.equal(await metrics.value("netgloss_api_failures_total"), 2);
  assert.equal(lines.filter(({ level }) => level === "error").length, 1);
});

async function post(url: string, body: Uint8Array): Promise<{ status: number; body: object }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: new Blob([new Uint8Array(body)]) });
  return { status: response.status, body: (await response.json()) as object };
}
