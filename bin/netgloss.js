#!/usr/bin/env node
// The entry that stays: finds the built program and runs it.
import { existsSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`netgloss: needs Node 20.19 or later, this is ${process.versions.node}.`);
  process.exit(1);
}
const main = new URL("../dist/program/main.js", import.meta.url);
if (!existsSync(main)) {
  console.error("netgloss: not built. Run `npm ci --include=dev` or, if that is done, `npm run build`.");
  process.exit(1);
}
const { main: run } = await import(main.href);
process.exit(await run(process));
