export { formatAddress, formatAddressBytes, parseAddress, unmapAddress, type Address } from "./key-order.ts";
export { familyBits, type Family } from "./key-order.ts";
export { KeyError } from "./key-order.ts";
export { compareKeys, compareSpecificity, keyContains } from "./key-order.ts";
export { addressKey, isMappedSpelling, networkOfKey, parseKey, type Key, type KeyKind } from "./key-order.ts";
