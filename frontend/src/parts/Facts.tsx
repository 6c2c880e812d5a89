import type { ComponentChildren } from "preact";

interface FactsProps {
  /** Titles with their values; those without a value are left out. */
  readonly facts: readonly (readonly [string, ComponentChildren])[];
}

/** Short facts, each below its title. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
      {facts.map(([title, value]) =>
        value ? (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}

/** A path or a name as code; nothing if it is empty. */
export function codeFact(text: string): ComponentChildren {
  return text ? <code>{text}</code> : null;
}
