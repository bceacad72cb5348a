import type { JSX } from "preact";
import { DropDown } from "./drop-down.tsx";

const lines: readonly (readonly [string, string])[] = [
  ["src in 10.0.0.0/8", "source within a prefix; dst, addr for either end"],
  ["dst.name = web-1", "a name; src.tag = pci a tag, src.site.name your metadata"],
  ["name ~ web", "a text somewhere in it; ^ and $ are its ends"],
  ["port in (80, 443)", "one of several; not in for none of them"],
  ["bytes > 1MB", "numbers with units; < <= > >="],
  ["proto = udp and not app.name exists", "and binds closer than or; brackets as usual"],
];

/** The language of filters at a glance. */
export function FilterHelp(): JSX.Element {
  return (
    <DropDown className="menu filter-help" summaryClass="button" label="Help">
      <div class="menu-body">
        <dl class="plain">
          {lines.map(([example, text]) => (
            <div key={example}>
              <dt>
                <code>{example}</code>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <p class="note">
          <kbd>Ctrl</kbd> <kbd>Space</kbd> offers what may stand at the cursor, ↓ and ↑ choose, Enter takes it.
        </p>
      </div>
    </DropDown>
  );
}
