import { UNKNOWN } from "./numbers";
import { absolute, relative, utc } from "./times";

interface TimeProps {
  readonly at: string;
  /** Show how long ago it is, and the time itself on hover. */
  readonly isRelative?: boolean;
}

/** A time in the reader's zone, with UTC on hover. */
export function Time({ at, isRelative = false }: TimeProps) {
  if (!at) return <span>{UNKNOWN}</span>;
  const title = isRelative ? `${absolute(at)} (${utc(at)})` : utc(at);
  return (
    <time dateTime={at} title={title}>
      {isRelative ? relative(at, new Date()) : absolute(at)}
    </time>
  );
}
