// The public conformance suite of Connect against the engine of all methods: Connect, gRPC and gRPC-Web, unary and server
// streams, HTTP/1.1 and HTTP/2, in clear and by TLS.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startPartner } from "../support/partner.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const features = `
features:
  versions: [HTTP_VERSION_1, HTTP_VERSION_2]
  protocols: [PROTOCOL_CONNECT, PROTOCOL_GRPC, PROTOCOL_GRPC_WEB]
  codecs: [CODEC_PROTO, CODEC_JSON]
  compressions: [COMPRESSION_IDENTITY, COMPRESSION_GZIP]
  streamTypes: [STREAM_TYPE_UNARY, STREAM_TYPE_SERVER_STREAM]
  supportsH2c: true
  supportsTls: true
  supportsTlsClientCerts: false
  supportsTrailers: true
  supportsConnectGet: false
  supportsMessageReceiveLimit: true
`;

test("the conformance suite of Connect", async (t) => {
  const buf = requireProgram(t, "buf", "npm install --global @bufbuild/buf@1.74.0");
  if (buf === undefined) return;
  const { program, proto } = await startPartner(t, "connectconformance");
  const folder = tempDirectory(t);
  const [schema, config] = [join(folder, "schema.binpb"), join(folder, "features.yaml")];
  const built = spawnSync(buf, ["build", String(proto), "--as-file-descriptor-set", "-o", schema], {
    encoding: "utf8",
  });
  assert.equal(built.status, 0, built.stderr);
  writeFileSync(config, features);
  const server = [process.execPath, join(import.meta.dirname, "../support/conformance-server.js"), schema];
  const args = ["--mode", "server", "--conf", config, "--max-servers", "1", "--parallel", "2", "--", ...server];
  const output = await run(String(program), args);
  const passed = Number(/^(\d+) passed, \d+ failed$/m.exec(output)?.[1]);
  assert.ok(passed >= 2400, `${passed} passed: ${output.slice(-8000)}`);
  assert.deepEqual(unexpectedFailures(output), []);
});

/** The suite wants errors of the server itself without details, where ours have a reason; and it does not know the type of it. */
const differences = [
  /^actual error contain 1 details; expecting 0$/,
  // A client that is still sending may see the connection close before it reads the refusal.
  /^actual error \{code: 1 \(canceled\), .*write: (broken pipe|connection reset by peer)"\} does not match expected code 8 \(resource_exhausted\)$/,
  /^connect error JSON: details\[0\]: could not check debug data because message type "google.rpc.ErrorInfo" could not be resolved/,
];

/** What is none of a protocol's calls: the suite wants no body, ours is an error that names the fault. */
const noCalls = /\/unexpected-(codec|content-type|uri|verb):$/;

/** The failures that are not just {@link differences}: case and messages. */
function unexpectedFailures(output: string): readonly string[] {
  const failures = output.split(/^FAILED: /m).slice(1);
  return failures.filter((failure) => {
    const [name = "", ...lines] = failure.split("\n");
    if (noCalls.test(name)) return false;
    const messages = lines.filter((line) => line.startsWith("\t")).map((line) => line.trim().replace(/^; /, ""));
    return messages.length === 0 || messages.some((text) => text !== "" && !differences.some((one) => one.test(text)));
  });
}

function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}
