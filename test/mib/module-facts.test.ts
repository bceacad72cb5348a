import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { MibFault, ModuleLibrary, moduleFacts, type ObjectFacts } from "../../packages/mib/index.ts";
import { acmeModule, oldModule } from "../support/mib-texts.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { runs } from "../support/runs.ts";

interface Read {
  readonly names: readonly string[];
  readonly leftOut: readonly string[];
  readonly of: (name: string) => ObjectFacts;
  readonly notes: readonly string[];
}

/** Facts of the first file, with the others next to it. */
function read(t: TestContext, files: Readonly<Record<string, string>>): Read {
  const directory = tempDirectory(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const library = new ModuleLibrary([directory]);
  const [first = ""] = Object.keys(files);
  const facts = library.readFile(join(directory, first)).flatMap((module) => moduleFacts(library, module));
  const of = (name: string): ObjectFacts => facts.find((one) => one.name === name) ?? assert.fail(name);
  const leftOut = library.leftOut.map(({ name, reason }) => `${name}: ${reason.replace(/^\S*\//, "")}`);
  return { of, notes: library.notes, names: facts.map(({ name }) => name), leftOut };
}

/** The message of the fault, without the directory. */
function faultOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  try {
    read(t, files);
  } catch (error) {
    assert.ok(error instanceof MibFault, String(error));
    return error.message.replace(/^\S*\//, "").replace(/looked for in .*/, "looked for in …");
  }
  return assert.fail("no fault");
}

const inModule = (body: string): string => `T-MIB DEFINITIONS ::= BEGIN\n${body}\nEND\n`;

test("objects of SMIv2 have OIDs, types with all that conventions add, and what they are", (t) => {
  const { of } = read(t, { "ACME-MIB": acmeModule });
  assert.equal(of("acmeSerial").oid, ".1.3.6.1.4.1.32473.1.1");
  assert.deepEqual(
    ["acmeSerial", "acmeFanTable", "acmeFanEntry", "acmeFanSpeed", "acmeFanFailed", "acme"].map(
      (name) => of(name).kind,
    ),
    ["scalar", "table", "row", "column", "notification", "other"],
  );
  const { type, units, access, status, description } = of("acmeFanTemperature");
  assert.deepEqual([type?.base, type?.conventions, type?.hint], ["Integer32", ["AcmeTenths"], "d-1"]);
  assert.deepEqual(
    [units, access, status, description],
    ["degrees Celsius", "read-only", "current", "Its temperature."],
  );
  assert.deepEqual(of("acmeFanState").type?.labels, [
    ["up", 1],
    ["notReady", 2],
    ["it-s", 3],
  ]);
  assert.deepEqual(of("acmeFanAlarms").type?.labels, [
    ["stuck", 0],
    ["loud", 9],
  ]);
  assert.deepEqual(of("acmePeerAddress").type?.sizes, [
    [4, 4],
    [16, 16],
  ]);
  assert.deepEqual(of("acmeLoad").type?.ranges, [[0, 100]]);
  assert.equal(of("acmeFanFailed").oid, ".1.3.6.1.4.1.32473.0.1");
});

test("rows have their own index, or that of the row that they augment", (t) => {
  const { of } = read(t, { "ACME-MIB": acmeModule });
  const index = (name: string): unknown[] =>
    (of(name).index ?? []).map((part) => `${part.module} ${part.name} ${part.isImplied}`);
  assert.deepEqual(index("acmeFanEntry"), ["ACME-MIB acmeFanSlot false", "ACME-MIB acmeFanName true"]);
  assert.deepEqual(index("acmePortEntry"), ["IF-MIB ifIndex false"]);
  assert.equal(of("acmePortEntry").augments, "IF-MIB::ifTable");
  assert.equal(index("acmePeerEntry").length, 4);
});

test("objects of SMIv1 are read, with the OID that a trap has in version 2", (t) => {
  const { of } = read(t, { "OLD-MIB": oldModule });
  assert.deepEqual([of("oldPackets").type?.base, of("oldPackets").kind], ["Counter", "column"]);
  assert.equal(of("oldTrap").oid, ".1.3.6.1.4.1.32473.2.0.7");
  assert.deepEqual(of("oldUnknownEntry").index, []);
});

test("a module that a directory has comes before the one that is built in", (t) => {
  const convention = 'DisplayString ::= TEXTUAL-CONVENTION DISPLAY-HINT "9a" STATUS current SYNTAX OCTET STRING';
  const own = `SNMPv2-TC DEFINITIONS ::= BEGIN\n${convention}\nEND`;
  const scalar = "x OBJECT-TYPE SYNTAX DisplayString MAX-ACCESS read-only STATUS current ::= { enterprises 1 }";
  const user = inModule(`IMPORTS enterprises FROM SNMPv2-SMI DisplayString FROM SNMPv2-TC;\n${scalar}`);
  assert.equal(read(t, { "T-MIB": user, "SNMPv2-TC.my": own }).of("x").type?.hint, "9a");
  assert.equal(read(t, { "T-MIB": user }).of("x").type?.hint, "255a");
  // Found by what it says, whatever the name of the file.
  assert.equal(read(t, { "T-MIB": user, "rfc2579.txt": `-- prose\n${own}` }).of("x").type?.hint, "9a");
});

test("names that are not imported are taken from where they are, and noted", (t) => {
  const text = inModule("IMPORTS OBJECT-TYPE FROM RFC-1212;\nx OBJECT IDENTIFIER ::= { enterprises 9 }");
  const { of, notes } = read(t, { "T-MIB": text });
  assert.equal(of("x").oid, ".1.3.6.1.4.1.9");
  assert.match(String(notes[0]), /T-MIB:3:27: enterprises is not imported; taken from SNMPv2-SMI$/);
});

test("faults of vendors that have one meaning are read: underscores, empty statements, rulers of hyphens", (t) => {
  const body = [
    "IMPORTS enterprises FROM SNMPv2-SMI;;",
    "-----------------------------",
    "-- a heading - with a dash -- and more prose",
    "my_node OBJECT IDENTIFIER ::= { enterprises, 4 }",
    "x OBJECT-TYPE SYNTAX INTEGER { 10base(1), b_c(2), } MAX-ACCESS read-only STATUS current ::= { my_node 1 }",
  ];
  const { of } = read(t, { "T-MIB": inModule(body.join("\n")) });
  assert.equal(of("x").oid, ".1.3.6.1.4.1.4.1");
  assert.equal(of("x").type?.labels?.join(), "10base,1,b_c,2");
});

test("a label that ends in a hyphen is read, as net-snmp does", (t) => {
  const body =
    "x OBJECT-TYPE SYNTAX INTEGER { cpe-a(1), cpe-b-(2), c(3) } MAX-ACCESS read-only STATUS current ::= { iso 9 }";
  const { of, leftOut } = read(t, { "T-MIB": inModule(body) });
  assert.equal(of("x").type?.labels?.join(), "cpe-a,1,cpe-b-,2,c,3");
  assert.deepEqual(leftOut, []);
});

test("what has a fault is left out and named, a row with its columns; the rest of the module is read", (t) => {
  const object = (name: string, syntax: string, place: string): string =>
    `${name} OBJECT-TYPE SYNTAX ${syntax} MAX-ACCESS read-only STATUS current DESCRIPTION "It { has ::= all }" ::= { ${place} }`;
  const row = (name: string, index: string, arc: number): string =>
    `${name}Table OBJECT-TYPE SYNTAX SEQUENCE OF E MAX-ACCESS not-accessible STATUS current ::= { root ${arc} }
     ${name}Entry OBJECT-TYPE SYNTAX E MAX-ACCESS not-accessible STATUS current INDEX { ${index} } ::= { ${name}Table 1 }
     ${object(`${name}Value`, "INTEGER", `${name}Entry 1`)}`;
  const body = [
    "root OBJECT IDENTIFIER ::= { iso 9 }",
    object("a", "INTEGER { one(1) two(2) }", "root 1"),
    object("b", "INTEGER", "root 2"),
    "Odd ::= INTEGER { x(~) }",
    object("c", "Odd", "root 3"),
    object("d", "INTEGER", "root nowhere"),
    "Even ::= TEXTUAL-CONVENTION STATUS current SYNTAX INTEGER { y(1) }",
    object("e", "Even", "root 5"),
    "f OBJECT-TYPE SYNTAX INTEGER { z(1) MAX-ACCESS read-only STATUS current",
    row("good", "goodValue", 6),
    row("bad", "missing", 7),
  ];
  const { names, leftOut } = read(t, { "T-MIB": inModule(body.join("\n")) });
  assert.deepEqual(names, ["root", "b", "e", "goodTable", "goodEntry", "goodValue", "badTable"]);
  assert.deepEqual(leftOut, [
    'a: T-MIB:3:39: expected "," or "}", found "two"',
    'Odd: T-MIB:5:21: unexpected character "~"',
    'f: T-MIB:10:37: expected "," or "}", found "MAX-ACCESS"',
    "d: T-MIB:7:110: nowhere has no number here",
    "c: T-MIB:6:22: Odd is neither defined nor imported in T-MIB",
    "badEntry: T-MIB:15:85: missing is neither defined nor imported in T-MIB",
  ]);
});

test("a fault names file, line and column", (t) => {
  const cases: readonly (readonly [body: string, message: string])[] = [
    ["x OBJECT IDENTIFIER ::= { iso 1 ::=", 'T-MIB:2:33: expected a name or number of an OID, found "::="'],
    ["x OBJECT IDENTIFIER ::= { nowhere 1 }", "T-MIB:2:27: nowhere is neither defined nor imported in T-MIB"],
    [
      "IMPORTS a FROM B-MIB;\nx OBJECT IDENTIFIER ::= { a 1 }",
      "T-MIB:2:16: a is imported from B-MIB, which was not found; looked for in …",
    ],
    [
      "IMPORTS ifIndx FROM IF-MIB;\nx OBJECT IDENTIFIER ::= { ifIndx 1 }",
      "T-MIB:2:9: ifIndx is imported from IF-MIB, which does not define it",
    ],
    [
      "x OBJECT IDENTIFIER ::= { y 1 }\ny OBJECT IDENTIFIER ::= { x 1 }",
      "T-MIB:2:1: the OID of x leads back to itself",
    ],
    [
      "x OBJECT-TYPE SYNTAX Foo STATUS current ::= { iso 1 }",
      "T-MIB:2:22: Foo is neither defined nor imported in T-MIB",
    ],
    ['x OBJECT-TYPE DESCRIPTION "never', "T-MIB:2:27: a text that begins here has no end"],
    ["x OBJECT-TYPE SYNTAX INTEGER { a(1) ::= { iso 1 }", 'T-MIB:2:37: expected "," or "}", found "::="'],
    ["IMPORTS a;", 'T-MIB:2:9: a is imported, but from which module? "FROM" is missing'],
    ["x ~ y", 'T-MIB:2:3: unexpected character "~"'],
  ];
  for (const [body, message] of cases) assert.equal(faultOf(t, { "T-MIB": inModule(body) }), message);
  assert.match(faultOf(t, { "T-MIB": "just prose, no module" }), /^T-MIB:1:6: expected "DEFINITIONS"/);
  assert.match(faultOf(t, { "T-MIB": "" }), /no MIB module/);
  assert.throws(
    () => new ModuleLibrary([]).readFile("/nowhere/x"),
    /^MibFault: \/nowhere\/x: cannot be read \(ENOENT\)$/,
  );
});

test("whatever is cut out of a module or put into it, reading ends with facts or a fault", (t) => {
  const directory = tempDirectory(t);
  const file = join(directory, "ACME-MIB");
  const span = fc.tuple(fc.nat(acmeModule.length), fc.nat(40), fc.string({ maxLength: 6 }));
  fc.assert(
    fc.property(span, ([at, length, added]) => {
      writeFileSync(file, acmeModule.slice(0, at) + added + acmeModule.slice(at + length));
      const library = new ModuleLibrary([directory]);
      try {
        for (const module of library.readFile(file)) moduleFacts(library, module);
      } catch (error) {
        assert.ok(error instanceof MibFault, String(error));
      }
    }),
    runs(60),
  );
});
