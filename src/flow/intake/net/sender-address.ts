/** The address of a sender as records have it: IPv4 as such on a dual-stack socket, IPv6 without its zone. */
export function senderAddress(address: string): string {
  if (address.startsWith("::ffff:") && address.includes(".")) return address.slice(7);
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}
