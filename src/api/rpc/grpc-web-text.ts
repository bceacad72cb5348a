import { Code, ConnectError } from "@connectrpc/connect";

/** gRPC-Web in base64 (`application/grpc-web-text`), which connect-es leaves out and older browser clients speak. */
export function isGrpcWebText(contentType: string): boolean {
  return /^application\/grpc-web-text\b/i.test(contentType);
}

export function withoutText(contentType: string): string {
  return contentType.replace(/^application\/grpc-web-text/i, "application/grpc-web");
}

export function withText(contentType: string): string {
  return contentType.replace(/^application\/grpc-web/i, "application/grpc-web-text");
}

/** Decodes base64 that is cut anywhere and may be padded in between, as each side encodes piece by piece. */
export async function* decodeText(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = "";
  for await (const piece of pieces) {
    const text = rest + Buffer.from(piece).toString("latin1");
    const whole = text.length - (text.length % 4);
    rest = text.slice(whole);
    if (whole > 0) yield decodeWhole(text.slice(0, whole));
  }
  if (rest !== "") throw badText();
}

function decodeWhole(text: string): Uint8Array {
  if (!/^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)+$/.test(text)) throw badText();
  return Buffer.concat((text.match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, "base64")));
}

function badText(): ConnectError {
  return new ConnectError("the body is not base64", Code.InvalidArgument);
}
