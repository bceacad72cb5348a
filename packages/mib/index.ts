export { MibFault } from "./mib-module.ts";
export type { MibModule } from "./mib-module.ts";
export { ModuleLibrary } from "./module-library.ts";
export { moduleFacts, type IndexFacts, type ObjectFacts } from "./module-facts.ts";
export { definitionTexts, type GeneratedDefinitions, type KnownDefinitions } from "./definition-texts.ts";
export { mergeText } from "./write-definitions.ts";
export { writeDefinitions, type WrittenFile } from "./write-definitions.ts";
export { syntaxOf } from "./syntax-of.ts";
