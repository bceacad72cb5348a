import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";

export const bucketKeys = { S3_ACCESS_KEY_ID: "AKIDEXAMPLE", S3_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG" };

/** A bucket that checks the signature of each request by itself (Signature Version 4), and keeps objects in memory. */
export class FakeBucket {
  readonly objects = new Map<string, Buffer>();
  /** The next answers in place of what it would say: status and code of the error. */
  readonly answers: [status: number, code: string][] = [];
  /** Whether it answers a PUT with an ETag. */
  hasEtags = true;
  /** Whether objects may be looked at. */
  isReadable = true;
  port = 0;

  static async start(t: TestContext): Promise<FakeBucket> {
    const bucket = new FakeBucket();
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const [status, code, length] = bucket.#answer(request, Buffer.concat(parts));
        const body = code === "" ? "" : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>m</Message></Error>`;
        const isStored = length !== undefined && request.method === "PUT";
        response
          .writeHead(status, {
            "content-type": "application/xml",
            ...(isStored && bucket.hasEtags && { etag: '"1"' }),
            ...(request.method === "HEAD" && { "content-length": length ?? 0 }),
          })
          .end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanUp(t, () => {
      server.closeAllConnections();
      server.close();
    });
    bucket.port = (server.address() as AddressInfo).port;
    return bucket;
  }

  #answer(request: IncomingMessage, body: Buffer): [status: number, code: string, length?: number] {
    const given = this.answers.shift();
    if (given !== undefined) return given;
    if (!isSigned(request, body)) return [403, "SignatureDoesNotMatch"];
    const [, bucket, ...key] = decodeURIComponent(request.url ?? "").split("/");
    if (bucket !== "flows") return [404, "NoSuchBucket"];
    const path = key.join("/");
    if (request.method === "HEAD") {
      const held = this.objects.get(path)?.length;
      return held === undefined || !this.isReadable ? [this.isReadable ? 404 : 403, ""] : [200, "", held];
    }
    if (request.method !== "PUT") return [405, "MethodNotAllowed"];
    this.objects.set(path, body);
    return [200, "", body.length];
  }
}

/** Recalculates the signature from what came over the wire. */
function isSigned({ headers, method = "", url = "" }: IncomingMessage, body: Buffer): boolean {
  const parsed =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? "",
    );
  if (parsed === null) return false;
  const [, id, day = "", region = "", signed = "", signature] = parsed;
  const sha256 = createHash("sha256").update(body).digest("hex");
  if (id !== bucketKeys.S3_ACCESS_KEY_ID || headers["x-amz-content-sha256"] !== sha256) return false;
  let canonical = `${method}\n`;
  canonical += `${url
    .split("/")
    .map((part) => encodeURIComponent(decodeURIComponent(part)))
    .join("/")}\n\n`;
  for (const name of signed.split(";")) canonical += `${name}:${String(headers[name]).trim()}\n`;
  canonical += `\n${signed}\n${sha256}`;
  const text = [
    "AWS4-HMAC-SHA256",
    headers["x-amz-date"],
    `${day}/${region}/s3/aws4_request`,
    createHash("sha256").update(canonical).digest("hex"),
  ].join("\n");
  let key: Buffer = Buffer.from(`AWS4${bucketKeys.S3_SECRET_ACCESS_KEY}`);
  for (const part of [day, region, "s3", "aws4_request"]) key = createHmac("sha256", key).update(part).digest();
  return createHmac("sha256", key).update(text).digest("hex") === signature;
}
