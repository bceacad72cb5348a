// Shapes in place of values: the paths and types of a JSON document, the names and labels of metrics.

/**
 * The paths of a value with their types, sorted: `devices[].name: string`.
 *
 * @returns {string[]}
 */
export function shapeOf(/** @type {unknown} */ value) {
  /** @type {Set<string>} */
  const lines = new Set();
  const visit = (/** @type {unknown} */ part, /** @type {string} */ path) => {
    if (Array.isArray(part)) {
      if (part.length === 0) lines.add(`${path}[]`);
      for (const element of part) visit(element, `${path}[]`);
    } else if (typeof part === "object" && part !== null) {
      for (const [key, member] of Object.entries(part)) visit(member, path === "" ? key : `${path}.${key}`);
    } else lines.add(`${path}: ${part === null ? "null" : typeof part}`);
  };
  visit(value, "");
  return [...lines].sort();
}

/** Labels whose values differ from run to run. */
const varying = new Set(["port", "node", "version", "instance", "exporter"]);

/**
 * The metrics of a text in the Prometheus format: name, type, help, and each label with its values, sorted by name.
 *
 * @returns {string[]}
 */
export function metricsOf(/** @type {string} */ text) {
  /** @type {Map<string, Map<string, Set<string>>>} */
  const labelsByMetric = new Map();
  /** @type {Map<string, string[]>} */
  const heads = new Map();
  let current = "";
  for (const line of text.split("\n")) {
    const [, word, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word !== undefined) {
      current = name;
      heads.set(name, [...(heads.get(name) ?? []), `${word.toLowerCase()}: ${rest}`]);
      continue;
    }
    const labels = labelsByMetric.get(current) ?? new Map();
    labelsByMetric.set(current, labels);
    for (const [, label = "", value = ""] of line.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      const values = labels.get(label) ?? new Set();
      labels.set(label, values.add(varying.has(label) ? "…" : value));
    }
  }
  return [...heads].sort(byName).map(([name, lines]) => {
    const labels = [...(labelsByMetric.get(name) ?? [])].sort(byName);
    const described = labels.map(([label, values]) => `  label ${label}: ${[...values].sort().join(" ")}`);
    return [name, ...lines.map((line) => `  ${line}`), ...described].join("\n");
  });
}

/**
 * @param {readonly [string, unknown]} first
 * @param {readonly [string, unknown]} second
 */
function byName([first], [second]) {
  return first < second ? -1 : 1;
}
