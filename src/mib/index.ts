export { MibFault } from "./mib-fault.ts";
export type { MibModule } from "./syntax/mib-module.ts";
export { ModuleLibrary } from "./library/module-library.ts";
export { moduleFacts, type IndexFacts, type ObjectFacts } from "./facts/module-facts.ts";
export { definitionTexts, type GeneratedDefinitions, type KnownDefinitions } from "./writing/definition-texts.ts";
export { mergeText } from "./merge/write-definitions.ts";
export { writeDefinitions, type WrittenFile } from "./merge/write-definitions.ts";
export { syntaxOf } from "./writing/syntax-of.ts";
