import { UNKNOWN } from "./numbers";
import { absolute, relative, utc } from "./times";

/** A time in the reader's zone or how long ago it is, with the time itself and UTC on hover. */
export function Time({ at, isRelative = false }: { at: string; isRelative?: boolean }) {
  if (!at) return <span>{UNKNOWN}</span>;
  const title = isRelative ? `${absolute(at)} (${utc(at)})` : utc(at);
  return (
    <time dateTime={at} title={title}>
      {isRelative ? relative(at, new Date()) : absolute(at)}
    </time>
  );
}
