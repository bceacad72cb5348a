import { createHash, createHmac } from "node:crypto";
import type { Clock } from "../../base/report/index.ts";
import { HttpClient, httpFailure, notAcknowledged, type HttpAnswer } from "../delivery/http-client.ts";
import { DeliveryError, type Blame } from "../delivery/output-adapter.ts";
import { tlsOf } from "../http/server-settings.ts";
import type { Lake } from "./lake.ts";
import type { ParquetSettings } from "./settings.ts";

/** Error codes that say more than their status: who is at fault, and what to do. */
const codes: Readonly<Record<string, readonly [Blame, string]>> = {
  AccessDenied: ["operator", "the key may not write there"],
  InvalidAccessKeyId: ["operator", "the key is not known there: is S3_ACCESS_KEY_ID right?"],
  SignatureDoesNotMatch: ["operator", "the signature is wrong: is S3_SECRET_ACCESS_KEY right?"],
  ExpiredToken: ["operator", "the token has expired: set S3_SESSION_TOKEN again"],
  RequestTimeTooSkewed: ["operator", "the clocks differ too much: set the clock of this host"],
  AuthorizationHeaderMalformed: ["operator", "the request is signed for another region: is S3_REGION right?"],
  PermanentRedirect: ["operator", "the bucket is elsewhere: are S3_REGION and S3_ENDPOINT right?"],
  TemporaryRedirect: ["operator", "the bucket is elsewhere: are S3_REGION and S3_ENDPOINT right?"],
  NoSuchBucket: ["operator", "there is no such bucket: create it"],
  XMinioStorageFull: ["operator", "the store is full"],
  QuotaExceeded: ["operator", "the quota is used up"],
  SlowDown: ["store", "asks to slow down"],
  ServiceUnavailable: ["store", "is overloaded"],
  RequestTimeout: ["store", "did not get the request in time"],
  InternalError: ["store", "has a fault"],
};

/** Objects of a bucket, each written by one PUT, which is atomic. The path of an object follows the address, so any store works. */
export class LakeBucket implements Lake {
  readonly #settings: ParquetSettings;
  readonly #clock: Clock;
  readonly #base: string;
  #client: HttpClient | undefined;

  constructor(
    { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
    settings: ParquetSettings,
    clock: Clock,
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#base = `/${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    const { S3_ACCESS_KEY_ID, S3_ENDPOINT, S3_REGION, TLS_ENABLE } = this.#settings;
    if (S3_ACCESS_KEY_ID === "") throw new DeliveryError("operator", "credentials", "a bucket needs S3_ACCESS_KEY_ID");
    const endpoint = S3_ENDPOINT === "" ? `https://s3.${S3_REGION}.amazonaws.com` : S3_ENDPOINT;
    const url = /^https?:/i.test(endpoint) ? endpoint : `${TLS_ENABLE ? "https" : "http"}://${endpoint}`;
    this.#client ??= new HttpClient(
      { urls: [url], headers: {}, tls: tlsOf(this.#settings), maxConnections: this.#settings.REQUESTS_IN_FLIGHT },
      this.#clock,
    );
    // Test with a write, as for the files: a user who may write them may perhaps not list or read anything.
    await this.put("_netgloss", [Buffer.from("netgloss can write here\n")], signal);
    return url.startsWith("http:") ? [`records go to ${url} without TLS: others on the path can read them`] : [];
  }

  async put(path: string, chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const answer = await this.#request("PUT", path, chunks, signal);
    if (!isSuccess(answer)) throw this.#failure(answer);
    // The type of an empty body says nothing.
    if (answer.body.length > 0) throw notAcknowledged(answer, "S3");
    if (answer.headers.etag === undefined) await this.#find(path, chunks, signal);
  }

  close(): void {
    this.#client?.close();
  }

  /** Checks that an object exists whose PUT was answered without an ETag. Stores that are not S3 answer so, and so does a proxy's page. */
  async #find(path: string, chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const answer = await this.#request("HEAD", path, [], signal);
    if (answer.status === 200 && answer.headers["content-length"] === String(length)) return;
    // Ignore an answer without permission to look, but try again after a fault.
    if (answer.status >= 500) throw this.#failure(answer);
    const host = new URL(answer.url).host;
    const found = answer.status === 200 ? "which is another one then" : `which cannot be found then (${answer.status})`;
    throw new DeliveryError(
      "operator",
      "protocol",
      `${host} stores an object without an ETag, ${found}: is the address right, and may the key read (s3:GetObject)?`,
    );
  }

  #request(
    method: "PUT" | "HEAD",
    path: string,
    body: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    if (this.#client === undefined) throw new Error("not open");
    const digest = createHash("sha256");
    for (const chunk of body) digest.update(chunk);
    const request = { method, path: escapedPath(`${this.#base}/${path}`), digest: digest.digest("hex") };
    const headersFor = (url: string): Readonly<Record<string, string>> =>
      signedHeaders(url, request, this.#settings, this.#clock.now());
    return this.#client.request({ ...request, body, headersFor, signal });
  }

  #failure(answer: HttpAnswer): DeliveryError {
    const failure = httpFailure(answer, this.#clock);
    const [, code = ""] = /<Code>(\w+)<\/Code>/.exec(answer.body.toString()) ?? [];
    const known = codes[code];
    const { retryAfterMs } = failure;
    if (known !== undefined) {
      const [blame, text] = known;
      const place = `${new URL(answer.url).host}${this.#base}`;
      return new DeliveryError(blame, code, `${place}: ${text} (${answer.status} ${code})`, { retryAfterMs });
    }
    // The file is not a record: no record is at fault, and halves would not help.
    const isOfStore = answer.status !== 507 && (failure.blame === "store" || failure.blame === "unclear");
    const blame = isOfStore ? "store" : "operator";
    return new DeliveryError(blame, failure.code, failure.message, { retryAfterMs });
  }
}

/** Escapes a path; names have no other character to escape. It is sent as it is signed: not all stores escape it themselves. */
function escapedPath(path: string): string {
  return path.replaceAll("=", "%3D");
}

function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

interface SignedRequest {
  readonly method: string;
  /** The escaped path. */
  readonly path: string;
  /** SHA-256 of the body, hexadecimal. */
  readonly digest: string;
}

type Keys = Pick<ParquetSettings, "S3_ACCESS_KEY_ID" | "S3_SECRET_ACCESS_KEY" | "S3_SESSION_TOKEN" | "S3_REGION">;

/** Signs a request: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. */
function signedHeaders(
  url: string,
  { method, path, digest }: SignedRequest,
  settings: Keys,
  now: number,
): Readonly<Record<string, string>> {
  const { host, pathname } = new URL(url);
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    host,
    "x-amz-content-sha256": digest,
    "x-amz-date": time,
    ...(settings.S3_SESSION_TOKEN !== "" && { "x-amz-security-token": settings.S3_SESSION_TOKEN }),
  };
  const names = Object.keys(headers);
  const canonical = [
    method,
    pathname.replace(/\/$/, "") + path,
    "",
    ...names.map((name) => `${name}:${headers[name]}`),
    "",
    names.join(";"),
    digest,
  ];
  const scope = `${day}/${settings.S3_REGION}/s3/aws4_request`;
  const hash = createHash("sha256").update(canonical.join("\n")).digest("hex");
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
  const signingKey = [day, settings.S3_REGION, "s3", "aws4_request"].reduce<string | Buffer>(
    hmac,
    `AWS4${settings.S3_SECRET_ACCESS_KEY}`,
  );
  const signature = hmac(signingKey, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash}`).toString("hex");
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${settings.S3_ACCESS_KEY_ID}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
  };
}
