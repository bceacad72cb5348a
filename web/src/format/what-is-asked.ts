/** What a text in the Explain box stands for. */
export type Asked =
  | { readonly kind: "nothing" }
  | { readonly kind: "address"; readonly text: string }
  /** A prefix or a range. */
  | { readonly kind: "prefix"; readonly text: string }
  /** A name, a tag, a part of one. */
  | { readonly kind: "words"; readonly text: string };

const ipv4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const ipv6 = /^[\da-f:]*:[\da-f:]*:[\da-f:.]*$/i;

/** Tells whether a text looks like an IP address; the server says whether it is one. */
export const isAddress = (text: string): boolean => ipv4.test(text) || ipv6.test(text);

/** The server validates addresses; this only distinguishes them from words. */
export function whatIsAsked(given: string): Asked {
  const text = given.trim();
  if (text === "") return { kind: "nothing" };
  if (isAddress(text)) return { kind: "address", text };
  const [from = "", to = "", ...more] = text.split(/[/-]/);
  const isPrefix = isAddress(from) && more.length === 0 && (text.includes("/") ? /^\d{1,3}$/.test(to) : isAddress(to));
  return isPrefix ? { kind: "prefix", text } : { kind: "words", text };
}

/** A text in quotes, as the language of filters has it. */
export const quoted = (text: string): string => JSON.stringify(text);
