import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LineShapes, viewOf } from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";
import { fields, lineOf, type Field } from "./any-line.ts";

type Names = { readonly names: readonly string[] };

/** Reads lines one after the other. @returns the names of each with its values as they stand there. */
function readAll(shapes: LineShapes<Names>, bytes: Buffer): { readonly of: Names; readonly values: string[] }[] {
  const view = viewOf(bytes);
  const read = [];
  for (let at = 0; at < bytes.length; at = shapes.end + 2) {
    const of = shapes.read(bytes, view, at);
    const values = of.names.map((_, i) => bytes.toString("utf8", shapes.values[i], shapes.ends[i]));
    assert.equal(bytes.toString("latin1", shapes.end, shapes.end + 2), "}\n");
    read.push({ of, values });
  }
  return read;
}

const bytesOf = (lines: readonly (readonly Field[])[]): Buffer =>
  Buffer.from(lines.map((all) => `${lineOf(all)}\n`).join(""));

test("fields are where a line has them, whatever lines were read before", () => {
  fc.assert(
    fc.property(fc.array(fields, { maxLength: 6 }), (lines) => {
      const shapes = new LineShapes((names): Names => ({ names }));
      const twice = [...lines, ...lines];
      const read = readAll(shapes, bytesOf(twice));
      assert.deepEqual(
        read.map(({ of, values }) => [of.names, values]),
        twice.map((all) => [all.map(([key]) => JSON.parse(key) as string), all.map(([, text]) => text)]),
      );
      for (const [i] of lines.entries()) assert.equal(read[i]?.of, read[i + lines.length]?.of, "worked out twice");
    }),
    runs(400),
  );
});

test("lines whose names are all new are read when no more names are kept", () => {
  const shapes = new LineShapes((names): Names => ({ names }));
  const lines = Array.from({ length: 300 }, (_, i) =>
    Array.from({ length: 100 }, (__, k): Field => [`"n${i}.${k}"`, String(k)]),
  );
  for (const { of, values } of readAll(shapes, bytesOf(lines))) {
    assert.equal(of.names.length, 100);
    assert.equal(values[99], "99");
  }
});
