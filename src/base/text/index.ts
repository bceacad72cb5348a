export { hashText, nearName, quote, Secret } from "./text.ts";
