/** `{"<name>":[<item>,…]}` in pieces of about `chunkLength` characters, each rendered when it is asked for. */
export function* jsonListChunks(name: string, items: Iterable<string>, chunkLength = 32_768): Generator<string> {
  let chunk = "";
  let isFirst = true;
  for (const item of items) {
    // An empty list is a zero value and left out.
    chunk += isFirst ? `{"${name}":[${item}` : `,${item}`;
    isFirst = false;
    if (chunk.length >= chunkLength) {
      yield chunk;
      chunk = "";
    }
  }
  yield isFirst ? "{}" : `${chunk}]}`;
}
