/** The header of a request of either HTTP version, as Node has it. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type HeaderFields = Readonly<Record<string, string | readonly string[]>>;

/** The value of a header that has one; of several, the first. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" || value === undefined ? value : value[0];
}
