/**
 * The source of an expression-free body that computes SHA-1 (RFC 3174) of one block of sixteen 32-bit words, of which only
 * some are ever other than zero: what is done with the others is left out. It reads `w<i>` for each of these and leaves the
 * digest in `h0` to `h4`, all of them signed 32-bit integers.
 */
export function sha1Code(words: readonly number[]): string {
  const lines: string[] = [];
  const isZero = Array.from({ length: 80 }, (_, t) => t < 16 && !words.includes(t));
  const state = ["a", "b", "c", "d", "e"] as [string, string, string, string, string];
  lines.push(`let ${state.map((name, i) => `${name} = ${initial[i]}`).join(", ")};`);
  for (let t = 0; t < 80; t++) {
    if (t >= 16) {
      const terms = [t - 3, t - 8, t - 14, t - 16].filter((i) => isZero[i] === false).map((i) => `w${i}`);
      if (terms.length === 0) isZero[t] = true;
      else lines.push(`const x${t} = ${terms.join(" ^ ")}, w${t} = (x${t} << 1) | (x${t} >>> 31);`);
    }
    const [a, b, c, d, e] = state;
    const stage = Math.floor(t / 20);
    const mix =
      stage === 0
        ? `(${d} ^ (${b} & (${c} ^ ${d})))`
        : stage === 2
          ? `((${b} & ${c}) | (${d} & (${b} | ${c})))`
          : `(${b} ^ ${c} ^ ${d})`;
    const added = isZero[t] === true ? `${rounds[stage]}` : `(w${t} + ${rounds[stage]} | 0)`;
    lines.push(`${e} = ((${e} + ${added} | 0) + (${mix} + ((${a} << 5) | (${a} >>> 27)) | 0)) | 0;`);
    lines.push(`${b} = (${b} << 30) | (${b} >>> 2);`);
    state.unshift(state.pop() as string);
  }
  const result = ["a", "b", "c", "d", "e"].map((name, i) => `h${i} = (${name} + ${initial[i]}) | 0`);
  lines.push(`const ${result.join(", ")};`);
  return lines.join("\n");
}

const initial = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0].map((word) => word | 0);
const rounds = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6].map((word) => word | 0);
