import type { PackagePart } from "../data/documents";
import { listByKey } from "../parts/collect";
import { Facts } from "../parts/Facts";

/** The facts of a session package, by section. */
export function PackageTab({ parts }: { readonly parts: readonly PackagePart[] }) {
  const sections = listByKey(
    parts.map(({ section, name, value }) => [section, [name, value] as const]),
  );
  return (
    <>
      {[...sections].map(([section, facts]) => (
        <section key={section}>
          <h3>{section}</h3>
          <Facts facts={facts} />
        </section>
      ))}
    </>
  );
}
