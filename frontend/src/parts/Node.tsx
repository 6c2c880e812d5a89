import type { ProjectDocument } from "../data/documents";
import { nodeAddress } from "../data/project";

interface NodeProps {
  readonly project: ProjectDocument;
  readonly node: string;
}

/** The name of a node as a link to its page. */
export function Node({ project, node }: NodeProps) {
  const href = nodeAddress(project, node);
  return href ? (
    <a href={href} title={node}>
      {node}
    </a>
  ) : (
    <span>{node}</span>
  );
}
