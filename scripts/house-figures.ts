// Prints the figures of the house: `node dist/scripts/house-figures.js` (after `npx tsc`). `test/architecture.test.ts` holds some of
// them in a table of numbers that may only fall.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseAst } from "rolldown/parseAst";

/** All of hand-written files of `src/`, unless it says something else. */
export interface HouseFigures {
  readonly files: number;
  readonly lines: number;
  readonly medianLines: number;
  /** The ten with the most lines. */
  readonly largestFiles: readonly { readonly path: string; readonly lines: number }[];
  /** Exported functions whose names begin with `create`. */
  readonly createFunctions: number;
  readonly classes: number;
  readonly interfaces: number;
  /** Interfaces with a method, or with a property whose type is a function. */
  readonly interfacesWithMethods: number;
  /**
   * Those of them with one implementation. An implementation is a class that implements the interface, and an object literal whose
   * type is said to be the interface: by the variable or the property that it begins, by the return type of the function that
   * returns it (a promise of it, too), or by `satisfies` and `as`. Names are not resolved: where several files declare an interface
   * of one name, a file that declares it means its own, and others mean all. Literals that are passed as arguments are not counted.
   */
  readonly interfacesWithOneImplementation: number;
  /** Files that one file alone imports, of the same folder. A door (`index.ts`) is neither such a file nor such a user. */
  readonly singleUserFiles: number;
  /** Functions, methods and inner functions of more than 80 lines. */
  readonly longFunctions: number;
  /** Pairs of a file of `test/` and a file that it imports of a room, other than the room's door: its `index.ts`, or that of a part of `base`. */
  readonly testImportsPastDoors: number;
  /** Lines of TypeScript in `test/`. */
  readonly testLines: number;
  /** Lines of the files in folders `golden` of `test/`. */
  readonly goldenLines: number;
  /** Lines of the pages in `docs/`. */
  readonly docsLines: number;
}

const longFunctionLines = 80;

/** Whether a path from the root of the repository is that of a hand-written file of `src/`. */
export function isHandWritten(path: string): boolean {
  return /^src\/.*\.ts$/.test(path) && !/\/gen\/|\.gen\.ts$|_pb\.ts$/.test(path);
}

/** @param root of the repository. */
export function houseFigures(root: string): HouseFigures {
  const all = filesBelow(root, "src").filter((path) => path.endsWith(".ts"));
  const files = all.filter((path) => isHandWritten(path)).map((path) => readSource(root, path));
  const lines = files.map((file) => file.lines).toSorted((a, b) => a - b);
  const tests = filesBelow(root, "test");
  const sum = (paths: readonly string[]): number =>
    paths.reduce((total, path) => total + linesOf(readFileSync(join(root, path), "utf8")), 0);
  return {
    files: files.length,
    lines: lines.reduce((total, one) => total + one, 0),
    medianLines: lines[Math.floor(lines.length / 2)] ?? 0,
    largestFiles: files
      .toSorted((a, b) => b.lines - a.lines)
      .slice(0, 10)
      .map(({ path, lines: own }) => ({ path, lines: own })),
    createFunctions: files.reduce((total, file) => total + file.createFunctions, 0),
    classes: files.reduce((total, file) => total + file.classes, 0),
    interfaces: files.reduce((total, file) => total + file.interfaces.length, 0),
    interfacesWithMethods: files.reduce(
      (total, file) => total + file.interfaces.filter(({ hasMethods }) => hasMethods).length,
      0,
    ),
    interfacesWithOneImplementation: implementedOnce(files),
    singleUserFiles: singleUserFiles(root, all),
    longFunctions: files.reduce((total, file) => total + file.longFunctions, 0),
    testImportsPastDoors: testImportsPastDoors(root, tests),
    testLines: sum(tests.filter((path) => path.endsWith(".ts"))),
    goldenLines: sum(tests.filter((path) => path.includes("/golden/"))),
    docsLines: sum(filesBelow(root, "docs").filter((path) => path.endsWith(".md"))),
  };
}

/** What the figures need of a file. */
interface Source {
  readonly path: string;
  readonly lines: number;
  readonly classes: number;
  readonly createFunctions: number;
  readonly longFunctions: number;
  readonly interfaces: readonly { readonly name: string; readonly hasMethods: boolean }[];
  /** Names of the types that its classes and object literals are said to have. */
  readonly implemented: readonly string[];
}

/** A node of the syntax tree; every kind has fields of its own. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const functionTypes: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

function readSource(root: string, path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const source = { path, lines: linesOf(text), classes: 0, createFunctions: 0, longFunctions: 0 };
  const interfaces: { name: string; hasMethods: boolean }[] = [];
  const implemented: string[] = [];

  /** @param returned the type that a `return` gives here. */
  const visit = (node: Node, returned: string | undefined): void => {
    let inside = returned;
    const claim = (value: unknown, type: string | undefined): void => {
      if (type !== undefined) for (let i = objectsOf(value); i > 0; i--) implemented.push(type);
    };
    if (functionTypes.has(node.type)) {
      inside = typeNameOf(node["returnType"]);
      if (linesOf(text.slice(node.start, node.end)) + 1 > longFunctionLines) source.longFunctions++;
      claim(node["body"], inside);
    } else if (node.type === "ReturnStatement") claim(node["argument"], returned);
    else if (node.type === "VariableDeclarator") {
      claim(node["init"], typeNameOf((node["id"] as Node)["typeAnnotation"]));
    } else if (node.type === "PropertyDefinition") claim(node["value"], typeNameOf(node["typeAnnotation"]));
    else if (node.type === "TSSatisfiesExpression" || node.type === "TSAsExpression") {
      claim(node["expression"], typeNameOf(node["typeAnnotation"]));
    } else if (node.type === "ClassDeclaration" || node.type === "ClassExpression") {
      source.classes++;
      for (const one of (node["implements"] ?? []) as Node[]) {
        const name = nameOf(one["expression"]);
        if (name !== undefined) implemented.push(name);
      }
    } else if (node.type === "TSInterfaceDeclaration") {
      const members = (node["body"] as Node)["body"] as Node[];
      interfaces.push({ name: nameOf(node["id"]) ?? "", hasMethods: members.some((member) => isMethod(member)) });
    } else if (node.type === "ExportNamedDeclaration") source.createFunctions += createdBy(node["declaration"]);
    for (const child of childrenOf(node)) visit(child, inside);
  };

  // AssemblyScript has decorators on functions, which TypeScript has not.
  const parsed = text.replaceAll(/^\s*@\w+(?:\(.*\))?$/gm, (line) => line.replaceAll(/\S/g, " "));
  visit(parseAst(parsed, { lang: "ts" }, path) as unknown as Node, undefined);
  return { ...source, interfaces, implemented };
}

/** How many functions named `create…` a declaration exports. */
function createdBy(declaration: unknown): number {
  if (!isNode(declaration)) return 0;
  const isCreate = (id: unknown): boolean => /^create[A-Z]/.test(nameOf(id) ?? "");
  if (functionTypes.has(declaration.type)) return isCreate(declaration["id"]) ? 1 : 0;
  if (declaration.type !== "VariableDeclaration") return 0;
  const declarators = declaration["declarations"] as Node[];
  return declarators.filter((one) => isCreate(one["id"]) && functionTypes.has((one["init"] as Node | null)?.type ?? ""))
    .length;
}

function isMethod(member: Node): boolean {
  if (member.type === "TSMethodSignature") return true;
  const annotation = member["typeAnnotation"] as Node | null | undefined;
  return member.type === "TSPropertySignature" && (annotation?.["typeAnnotation"] as Node)?.type === "TSFunctionType";
}

/** How many object literals an expression may be. */
function objectsOf(value: unknown): number {
  if (!isNode(value)) return 0;
  if (value.type === "ObjectExpression") return 1;
  if (value.type === "ParenthesizedExpression") return objectsOf(value["expression"]);
  if (value.type === "ConditionalExpression") return objectsOf(value["consequent"]) + objectsOf(value["alternate"]);
  return 0;
}

/** The name in an annotation; that within of a promise. */
function typeNameOf(annotation: unknown): string | undefined {
  if (!isNode(annotation)) return undefined;
  const type = annotation.type === "TSTypeAnnotation" ? annotation["typeAnnotation"] : annotation;
  if (!isNode(type) || type.type !== "TSTypeReference") return undefined;
  const name = nameOf(type["typeName"]);
  if (name !== "Promise") return name;
  return typeNameOf(((type["typeArguments"] as Node | null)?.["params"] as Node[] | undefined)?.[0]);
}

function nameOf(id: unknown): string | undefined {
  return isNode(id) && typeof id["name"] === "string" ? id["name"] : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode);
}

/** How many interfaces with methods have one implementation. */
function implementedOnce(files: readonly Source[]): number {
  const isOwn = (file: Source, type: string): boolean => file.interfaces.some(({ name }) => name === type);
  const abroad = new Map<string, number>();
  for (const file of files) {
    for (const type of file.implemented) if (!isOwn(file, type)) abroad.set(type, (abroad.get(type) ?? 0) + 1);
  }
  const implementations = (file: Source, name: string): number =>
    (abroad.get(name) ?? 0) + file.implemented.filter((type) => type === name).length;
  return files.reduce((total, file) => {
    const once = file.interfaces.filter(({ name, hasMethods }) => hasMethods && implementations(file, name) === 1);
    return total + once.length;
  }, 0);
}

function singleUserFiles(root: string, paths: readonly string[]): number {
  const users = new Map<string, Set<string>>();
  for (const path of paths) {
    for (const imported of importedFiles(root, path)) {
      users.set(imported, (users.get(imported) ?? new Set()).add(path));
    }
  }
  return paths.filter((path) => {
    const [user, other] = users.get(path) ?? [];
    if (user === undefined || other !== undefined || !isHandWritten(path)) return false;
    return !path.endsWith("/index.ts") && !user.endsWith("/index.ts") && dirname(user) === dirname(path);
  }).length;
}

function testImportsPastDoors(root: string, tests: readonly string[]): number {
  const isInside = (path: string): boolean =>
    path.startsWith("src/") && !/^src\/(?:base\/)?[^/]+\/index\.ts$/.test(path);
  return tests
    .filter((path) => path.endsWith(".ts"))
    .reduce((total, path) => total + importedFiles(root, path).filter((imported) => isInside(imported)).length, 0);
}

const anyImport =
  /^\s*(?:import|export)\b[^;(]*?\bfrom\s+"(\.[^"]+)"|^\s*import\s+"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)/gm;

/** The files that a file imports by a relative path, each once. The kernel's assembly writes them without `.ts`. */
function importedFiles(root: string, path: string): readonly string[] {
  const text = readFileSync(join(root, path), "utf8");
  const named = [...text.matchAll(anyImport)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  const full = named.map((name) => relative(root, resolve(root, dirname(path), name)));
  return [...new Set(full.map((name) => (name.endsWith(".ts") ? name : `${name}.ts`)))];
}

function filesBelow(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((path) => join(folder, path))
    .filter((path) => statSync(join(root, path)).isFile())
    .toSorted();
}

function linesOf(text: string): number {
  return text.split("\n").length - 1;
}

if (process.argv[1] === import.meta.filename) {
  const figures = houseFigures(join(import.meta.dirname, "../.."));
  const rows: readonly (readonly [string, number])[] = [
    ["hand-written files", figures.files],
    ["hand-written lines", figures.lines],
    ["median of lines", figures.medianLines],
    ["exported functions create…", figures.createFunctions],
    ["classes", figures.classes],
    ["interfaces", figures.interfaces],
    ["  with methods", figures.interfacesWithMethods],
    ["  with one implementation", figures.interfacesWithOneImplementation],
    ["single-user files", figures.singleUserFiles],
    ["functions over 80 lines", figures.longFunctions],
    ["imports of tests past a door", figures.testImportsPastDoors],
    ["lines of tests", figures.testLines],
    ["lines of golden files", figures.goldenLines],
    ["lines of docs", figures.docsLines],
  ];
  for (const [name, value] of rows) console.log(`${name.padEnd(30)}${String(value).padStart(8)}`);
  console.log("largest files");
  for (const { path, lines } of figures.largestFiles) console.log(`  ${String(lines).padStart(5)}  ${path}`);
}
