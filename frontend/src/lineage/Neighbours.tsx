import { modelNamed, modelState, sourceNamed } from "../data/project";
import { useMore } from "../parts/More";
import { Node, type NodeProps } from "../parts/Node";
import { Sign } from "../parts/State";

const FEW = 12;

/** What a node reads and what reads it, one hop each way. */
export function Neighbours({ project, node }: NodeProps) {
  const below = project.models.filter(({ reads }) => reads.includes(node));
  return (
    <>
      <Side project={project} title="Reads" nodes={modelNamed(project, node)?.reads ?? []} />
      <Side project={project} title="Read by" nodes={below.map(({ name }) => name)} />
    </>
  );
}

type SideProps = Pick<NodeProps, "project"> & { title: string; nodes: readonly string[] };

function Side({ project, title, nodes }: SideProps) {
  const [shown, more] = useMore(nodes, FEW);
  return (
    <section class="neighbours" aria-label={title}>
      <h3>{title}</h3>
      {nodes.length === 0 && <p class="quiet">nothing</p>}
      <ul>
        {shown.map((each) => {
          const model = modelNamed(project, each);
          return (
            <li key={each}>
              {model && <Sign name={modelState(project, model)} />}{" "}
              <Node project={project} node={each} />{" "}
              {!model && <span class="quiet">{sourceNamed(project, each)?.kind}</span>}
            </li>
          );
        })}
      </ul>
      {more}
    </section>
  );
}
