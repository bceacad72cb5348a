export { formatAddress, formatAddressBytes, parseAddress, unmapAddress, type Address } from "./address.ts";
export { familyBits, type Family } from "./family.ts";
export { KeyError } from "./key-error.ts";
export { compareKeys, compareSpecificity, keyContains } from "./key-order.ts";
export { addressKey, isMappedSpelling, networkOfKey, parseKey, type Key, type KeyKind } from "./key.ts";
