import type { PackagePart } from "../data/documents";
import { Facts } from "../parts/Facts";

/** The facts of a session package, by section. */
export function PackageTab({ parts }: { readonly parts: readonly PackagePart[] }) {
  return (
    <>
      {[...bySection(parts)].map(([section, rows]) => (
        <section key={section}>
          <h3>{section}</h3>
          <Facts facts={rows.map(({ name, value }) => [name, value] as const)} />
        </section>
      ))}
    </>
  );
}

function bySection(parts: readonly PackagePart[]): ReadonlyMap<string, readonly PackagePart[]> {
  const sections = new Map<string, PackagePart[]>();
  for (const part of parts) {
    sections.set(part.section, [...(sections.get(part.section) ?? []), part]);
  }
  return sections;
}
