// Clients of the world against the real port, by all protocols.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { suite, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { startApi } from "../server/api-fixture.ts";
import { requireProgram } from "../support/require-program.ts";
import { selfSignedFiles } from "../support/self-signed.ts";

const run: (file: string, args: string[], options?: { env: NodeJS.ProcessEnv }) => Promise<{ stdout: string }> =
  promisify(execFile);

const hints = {
  curl: "apt-get install curl",
  grpcurl: "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest",
  buf: "npm install --global @bufbuild/buf@1.74.0",
};
type Program = keyof typeof hints;

/** Finds programs, or skips. */
function need(t: TestContext, ...programs: Program[]): Record<Program, string> | undefined {
  const paths: Partial<Record<Program, string>> = {};
  for (const program of programs) {
    const path = requireProgram(t, program, hints[program]);
    if (path === undefined) return undefined;
    paths[program] = path;
  }
  return paths as Record<Program, string>;
}

const countPath = "/api/v1/enrich/ipaddr/udm.v1.UdmService/CountUdms";
const json = ["-sS", "-H", "content-type: application/json", "-d", "{}"];

for (const tls of [false, true]) {
  suite(tls ? "by TLS" : "in clear", () => {
    const open = async (t: TestContext) => {
      const files = tls ? selfSignedFiles(t) : undefined;
      const api = await startApi(t, files === undefined ? {} : { tls: files });
      return { ...api, host: `localhost:${api.port}`, base: api.url.replace("127.0.0.1", "localhost"), files };
    };

    test("curl, HTTP/1.0, 1.1 and 2", async (t) => {
      const programs = need(t, "curl");
      if (programs === undefined) return;
      const { base, files } = await open(t);
      const trust = files === undefined ? [] : ["--cacert", files.certPath];
      const http2 = tls ? "--http2" : "--http2-prior-knowledge";
      for (const [flag, version] of [
        ["--http1.0", "1.1"],
        ["--http1.1", "1.1"],
        [http2, "2"],
      ] as const) {
        const args = [...json, ...trust, flag, "-w", " %{http_version} %{http_code}", base + countPath];
        const { stdout } = await run(programs.curl, args);
        // An answer to HTTP/1.0 is of version 1.1 (RFC 9110 section 6.2).
        assert.equal(stdout, `{} ${version} 200`, flag);
      }
      const { stdout } = await run(programs.curl, [...json, ...trust, "--compressed", "-i", base + countPath]);
      assert.match(stdout, /^HTTP\/[12](\.1)? 200/);
    });

    test("curl sends a large body only when it is told to", async (t) => {
      const programs = need(t, "curl");
      if (programs === undefined) return;
      const { base, files } = await open(t);
      const trust = files === undefined ? [] : ["--cacert", files.certPath];
      const args = [
        "-sS",
        ...trust,
        "--http1.1",
        "-H",
        "content-type: application/json",
        "-d",
        `{"x":"${"x".repeat(100_000)}"}`,
      ];
      const { stdout } = await run(programs.curl, [...args, "-H", "Expect: 100-continue", base + countPath]);
      assert.match(stdout, /unknown field \\"x\\"/);
    });

    test("grpcurl by reflection", async (t) => {
      const programs = need(t, "grpcurl");
      if (programs === undefined) return;
      const { host, files } = await open(t);
      const trust = files === undefined ? ["-plaintext"] : ["-cacert", files.certPath];
      const { stdout: list } = await run(programs.grpcurl, [...trust, host, "list"]);
      assert.deepEqual(list.trim().split("\n"), [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "udm.v1.UdmService",
      ]);
      const { stdout: health } = await run(programs.grpcurl, [...trust, host, "grpc.health.v1.Health/Check"]);
      assert.deepEqual(JSON.parse(health), { status: "SERVING" });
      const bad = ["-d", '{"requests":[{"udm":{"key":"x"}}]}', host, "udm.v1.UdmService/BatchCreateUdms"];
      await assert.rejects(run(programs.grpcurl, [...trust, ...bad]), /InvalidArgument[^]*requests\[0\]\.udm\.key/);
    });

    for (const protocol of ["connect", "grpc", "grpcweb"]) {
      test(`buf curl by ${protocol}, with reflection`, async (t) => {
        const programs = need(t, "buf");
        if (programs === undefined) return;
        const { base, files } = await open(t);
        const how = files === undefined ? ["--http2-prior-knowledge"] : ["--cacert", files.certPath];
        const call = async (method: string, request: unknown): Promise<unknown> => {
          const url = `${base}/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`;
          const args = ["curl", ...how, "--protocol", protocol, "-d", JSON.stringify(request), url];
          return JSON.parse((await run(programs.buf, args)).stdout);
        };
        const udm = { key: "192.0.2.0/24", vlan: "18446744073709551615", metadata: { ["__proto__"]: "kept" } };
        assert.deepEqual(await call("CreateUdm", { udm }), udm);
        assert.deepEqual(await call("ListUdms", { key: "192.0.2.9" }), { udms: [udm] });
        await assert.rejects(call("CreateUdm", { udm }), /already_exists/);
        const renamed = await call("UpdateUdm", { udm: { key: udm.key, name: "n" }, updateMask: "name" });
        assert.deepEqual(renamed, { ...udm, name: "n" });
      });
    }
  });
}
