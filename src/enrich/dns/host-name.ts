/** The objects whose addresses get host names. */
export const namedObjects: ReadonlySet<string> = new Set(["flow.src", "flow.dst", "flow.export"]);

/**
 * The name that a PTR record gives, fit for a record: without the root's dot, in lower case.
 *
 * @returns undefined for what is no host name: anybody may put any bytes into the reverse zone of addresses of his. Letters,
 *   digits, `-` and `_`, in labels of 1 to 63, 253 characters in all (RFC 1035 section 2.3.4, RFC 1123 section 2.1).
 */
export function readHostName(text: string): string | undefined {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  if (name.length > 253) return undefined;
  return name.split(".").every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) ? name : undefined;
}
