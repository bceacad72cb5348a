import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { decodedSegments } from "../../src/record/index.ts";

const source = resolve(import.meta.dirname, "../../../src/flow");

test("every name below an object that the flow room knows starts with a decoded segment", () => {
  const names = new Set(
    readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => readFileSync(join(source, path), "utf8").match(/\bflow\.(src|dst|export)\.[\w.]+/g) ?? []),
  );
  assert.ok(names.has("flow.src.ip.addr"));
  for (const name of names) assert.ok(decodedSegments.has(name.split(".")[2] ?? ""), name);
});

/** It lists reserved names, so that elements of the user's do not get them. */
const guard = "elements/custom-elements.ts";

test("no name of the flow room meets a name that is reserved for metadata", () => {
  const reserved =
    /\bflow\.(src|dst|export)\.(ip\.subnet\b|isInternal\b|vlan\.tag\.id\.|(ip|ip\.subnet|vlan|vlan\.tag)["'`])/;
  for (const path of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (path.endsWith(".ts") && path !== guard)
      assert.doesNotMatch(readFileSync(join(source, path), "utf8"), reserved, path);
  }
});
