/** FNV-1a, 32 bits, over the UTF-16 units of a text. Spreads texts, and keeps out nobody who chooses them. */
export function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
