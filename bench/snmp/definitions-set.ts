import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export const objectFiles = 1200;
export const enumFiles = 100;
export const groupFiles = 80;
export const deviceFiles = 20;
const objectsPerFile = 4;
const attributesPerObject = 22;
const devicesPerFile = 100;

/**
 * Writes a set of the size of a vendor's complete collection, the same each time: 1 400 files with 17 MB, 4 800 objects,
 * 2 000 devices.
 */
export async function writeDefinitionSet(directory: string): Promise<{ files: number; bytes: number }> {
  let files = 0;
  let bytes = 0;
  const write = async (path: string, text: string): Promise<void> => {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    files++;
    bytes += text.length;
  };
  await write("defaults/device.yml", "default:\n  timeout: 2000\n");
  await write("defaults/object_types.yml", "dynamic:\n  poll_interval: 60\nactive:\n  poll_interval: 300\n");
  for (let i = 0; i < objectFiles; i++) await write(`objects/vendor${i % 40}/mib-${i}.yml`, objectFile(i));
  for (let i = 0; i < enumFiles; i++) await write(`enums/integer/enum-${i}.yml`, enumFile(i));
  await mkdir(join(directory, "enums/bitmap"), { recursive: true });
  await mkdir(join(directory, "enums/oid"), { recursive: true });
  for (let i = 0; i < groupFiles / 2; i++) {
    const each = objectFiles / (groupFiles / 2);
    const objects = Array.from({ length: each * objectsPerFile }, (_, j) =>
      objectId(i * each + (j % each), Math.floor(j / each)),
    );
    await write(
      `object_groups/group-${i}.yml`,
      `vendor_${i}:\n  objects:\n${objects.map((id) => `    - ${id}\n`).join("")}`,
    );
    const groups = [`vendor_${i}`, `vendor_${(i + 1) % (groupFiles / 2)}`];
    await write(
      `device_groups/group-${i}.yml`,
      `kind_${i}:\n  object_groups:\n${groups.map((id) => `    - ${id}\n`).join("")}`,
    );
  }
  await write("autodiscover/sysoids/all.yml", ".1.3.6.1.4.1: kind_0\n");
  for (let i = 0; i < deviceFiles; i++) await write(`devices/site-${i}.yml`, deviceFile(i));
  return { files, bytes };
}

function objectId(file: number, object: number): string {
  return `EXAMPLE-${file}-MIB::exampleTable${object}`;
}

function objectFile(file: number): string {
  let text = `# Definitions of EXAMPLE-${file}-MIB, made up for measuring.\n`;
  for (let object = 0; object < objectsPerFile; object++) {
    const root = `.1.3.6.1.4.1.${50_000 + file}.1.${object}.1`;
    text += `${objectId(file, object)}:\n  mib: EXAMPLE-${file}-MIB\n  object: exampleTable${object}\n  type: active\n`;
    text += `  index:\n    - type: Integer\n      oid: ${root}.1\n      name: example.unit\n      syntax: InterfaceIndex\n`;
    text += "  discovery_attribute: exampleValue0\n  attributes:\n";
    for (let attribute = 0; attribute < attributesPerObject; attribute++) {
      text += `    exampleValue${attribute}:\n      oid: ${root}.${attribute + 2}\n      name: example.table${object}.value${attribute}\n`;
      text +=
        attribute % 8 === 7
          ? "      syntax: DisplayString\n      tag: true\n"
          : "      syntax: Counter64\n      metric: counter\n";
    }
  }
  return text;
}

function enumFile(file: number): string {
  let text = "";
  for (let i = 0; i < 20; i++) {
    text += `# exampleState${i}\n.1.3.6.1.4.1.${60_000 + file}.${i}:\n`;
    for (let label = 1; label <= 12; label++) text += `  ${label}: 'state ${label}' # state${label}\n`;
  }
  return text;
}

function deviceFile(file: number): string {
  let text = "";
  for (let i = 0; i < devicesPerFile; i++) {
    text += `device-${file}-${i}.example:\n  ip: 198.18.${file}.${i}\n  communities: [example]\n  device_groups:\n    - kind_${file}\n`;
  }
  return text;
}
