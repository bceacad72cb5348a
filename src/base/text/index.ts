export { hashText } from "./hash-text.ts";
export { nearName } from "./near-name.ts";
export { quote } from "./quote.ts";
export { Secret } from "./secret.ts";
