import type { Clock } from "../../base/report/index.ts";
import { joinChunks, type Batch } from "../delivery/batch.ts";
import { compressor, logPostConfig, type PostConfig } from "./server-settings.ts";
import { type HttpAnswer, HttpClient, httpFailure, isPage, notAcknowledged } from "../delivery/http-client.ts";
import { allAccepted, type Outcome, type OutputAdapter } from "../delivery/output-adapter.ts";
import { copyLines } from "../../record/index.ts";
import type { AdapterContext } from "../output-kind.ts";
import type { HttpSettings } from "./settings.ts";

/** The parts of a store's protocol beyond posting batches. */
interface PostProtocol {
  /** The name of its servers. */
  readonly name: string;
  readonly contentType: string;
  /** The path after that of the URL: it starts with a question mark or slash, or is empty. */
  readonly path: string;
  /** Returns the body of a request, not compressed. */
  encode(batch: Batch): readonly Uint8Array[];
  /** Returns further headers for a batch. */
  headersOf?(batch: Batch): Readonly<Record<string, string>>;
  /** Makes the first contact; see {@link OutputAdapter.open}. */
  open(client: HttpClient, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Returns the outcome for a status of 200 to 299; absent: the store has all records.
   *
   * @throws DeliveryError
   */
  accepted?(answer: HttpAnswer, batch: Batch, signal: AbortSignal): Outcome | Promise<Outcome>;
  /**
   * Returns the outcome for another status; undefined, or absent: its general meaning applies.
   *
   * @throws DeliveryError
   */
  refused?(answer: HttpAnswer, batch: Batch): Outcome | undefined;
  close?(): void;
}

/** Posts each batch as one request. */
export class PostOutput implements OutputAdapter {
  readonly #config: PostConfig;
  readonly #protocol: PostProtocol;
  readonly #clock: Clock;
  readonly #compress: ReturnType<typeof compressor>;
  readonly #headers: Readonly<Record<string, string>>;
  #client: HttpClient | undefined;

  constructor(config: PostConfig, protocol: PostProtocol, clock: Clock) {
    this.#config = config;
    this.#protocol = protocol;
    this.#clock = clock;
    this.#compress = compressor(config.compression);
    this.#headers = {
      "content-type": protocol.contentType,
      ...(this.#compress !== undefined && { "content-encoding": config.compression }),
    };
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    this.#client ??= new HttpClient(this.#config, this.#clock);
    return this.#protocol.open(this.#client, signal);
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    if (this.#client === undefined) throw new Error("not open");
    const protocol = this.#protocol;
    const answer = await this.#client.request({
      method: "POST",
      path: protocol.path,
      headers: { ...this.#headers, ...protocol.headersOf?.(batch) },
      body: await this.#bodyOf(batch),
      signal,
    });
    if (answer.status >= 200 && answer.status < 300) {
      if (isPage(answer)) throw notAcknowledged(answer, protocol.name);
      return protocol.accepted === undefined ? allAccepted : await protocol.accepted(answer, batch, signal);
    }
    const outcome = protocol.refused?.(answer, batch);
    if (outcome !== undefined) return outcome;
    throw httpFailure(answer, this.#clock);
  }

  async close(): Promise<void> {
    this.#client?.close();
    this.#protocol.close?.();
  }

  async #bodyOf(batch: Batch): Promise<readonly Uint8Array[]> {
    const chunks = this.#protocol.encode(batch);
    if (this.#compress === undefined) return chunks;
    const byteLength = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return [await this.#compress(joinChunks({ chunks, byteLength }))];
  }
}

/** Posts lines to a server of the operator's own. */
export function createHttpOutput(settings: HttpSettings, { clock }: AdapterContext): OutputAdapter {
  return createPostedLines(logPostConfig(settings), settings.FORMAT, clock);
}

/**
 * Posts each batch as one request; any status from 200 to 299 acknowledges it. The server cannot recognise a repeated batch, so
 * a lost acknowledgement makes records arrive twice: at least once.
 */
export function createPostedLines(config: PostConfig, format: HttpSettings["FORMAT"], clock: Clock): OutputAdapter {
  const isLines = format === "ndjson";
  return new PostOutput(
    config,
    {
      name: "a receiver of records",
      contentType: isLines ? "application/x-ndjson" : "application/json",
      path: "",
      encode: (batch) => (isLines ? batch.chunks : asArray(batch)),
      async open(client, signal) {
        // Accept any other answer: what a webhook says to a request without records means nothing.
        const { status } = await client.request({ method: "OPTIONS", path: "", signal });
        return status === 401 || status === 403
          ? [`the server answers ${status} to a first request without records`]
          : [];
      },
    },
    clock,
  );
}

const lineFeed = 0x0a;
const comma = 0x2c;

/** Returns the lines as a JSON array: each line feed becomes a comma, the last one the end. */
function asArray(batch: Batch): readonly Uint8Array[] {
  const text = Buffer.allocUnsafeSlow(batch.byteLength + 1);
  text[0] = 0x5b;
  let at = 1;
  for (const chunk of batch.chunks) {
    const chunkEnd = copyLines(chunk, 0, chunk.length, text, at);
    for (let end = text.indexOf(lineFeed, at); end >= 0 && end < chunkEnd; end = text.indexOf(lineFeed, end)) {
      text[end] = comma;
    }
    at = chunkEnd;
  }
  text[at - 1] = 0x5d;
  return [text];
}
