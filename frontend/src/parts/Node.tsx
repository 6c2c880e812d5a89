import type { ProjectDocument } from "../data/documents";
import { nodeAddress } from "../data/project";

/** A node of the graph, and the project that it is in. */
export interface NodeProps {
  readonly project: ProjectDocument;
  readonly node: string;
}

/** The name of a node as a link to its page, if it has one. */
export function Node({ project, node }: NodeProps) {
  return (
    <a href={nodeAddress(project, node) || undefined} title={node}>
      {node}
    </a>
  );
}
