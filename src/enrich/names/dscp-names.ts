/**
 * Names of code points: class selectors (RFC 2474), assured forwarding (RFC 2597), expedited forwarding (RFC 3246),
 * voice-admit (RFC 5865), lower effort (RFC 8622); RFC 4594 says what they are for. Others have none.
 */
export const dscpNames: ReadonlyMap<number, string> = new Map([
  ...Array.from({ length: 8 }, (_, i): [number, string] => [8 * i, `CS${i}`]),
  ...[1, 2, 3, 4].flatMap((of) => [1, 2, 3].map((drop): [number, string] => [8 * of + 2 * drop, `AF${of}${drop}`])),
  [1, "LE"],
  [44, "VA"],
  [46, "EF"],
]);
