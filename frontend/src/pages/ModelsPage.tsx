import { useMemo } from "preact/hooks";
import type { ModelRow, ProjectDocument } from "../data/documents";
import { modelState, statesText } from "../data/project";
import { Choice } from "../parts/Choice";
import { bytes, counted, number, seconds } from "../parts/numbers";
import type { Column } from "../parts/Rows";
import { Rows } from "../parts/Rows";
import { State } from "../parts/State";
import { stateLook } from "../parts/states";
import { Time } from "../parts/Time";
import { address } from "../shell/route";
import type { Router } from "../shell/router";
import type { Filter } from "./models";
import { choices, FILTERS, filterModels, sortModels } from "./models";

interface ModelsPageProps {
  readonly project: ProjectDocument;
  readonly router: Router;
}

/** All models as a table, filtered and sorted by what the address says. */
export function ModelsPage({ project, router }: ModelsPageProps) {
  const { query } = router.route;
  const sort = query.get("sort") ?? "name";
  const text = query.toString();
  const models = useMemo(
    () => sortModels(project, filterModels(project, new URLSearchParams(text)), sort),
    [project, text, sort],
  );
  const columns = useMemo(() => modelColumns(project), [project]);
  return (
    <>
      <h1>Models</h1>
      <search class="filters">
        <label>
          Filter
          <input
            type="search"
            value={query.get("find") ?? ""}
            placeholder="name, tag or owner"
            onInput={(event) => router.replace({ find: event.currentTarget.value })}
          />
        </label>
        {FILTERS.map((filter) => (
          <FilterChoice key={filter} filter={filter} project={project} router={router} />
        ))}
        <span role="status">{countText(models.length, project.models.length)}</span>
      </search>
      <Rows
        name="Models"
        rows={models}
        columns={columns}
        id={(model) => model.name}
        sort={sort}
        sortBy={(next) => router.go({ sort: next })}
      />
    </>
  );
}

function FilterChoice({ filter, project, router }: ModelsPageProps & { readonly filter: Filter }) {
  const values = useMemo(() => choices(project, filter), [project, filter]);
  const chosen = router.route.query.get(filter) ?? "";
  if (values.length < 2 && !chosen) return null;
  const title = `${filter.charAt(0).toUpperCase()}${filter.slice(1)}`;
  return (
    <Choice
      title={title}
      none="all"
      values={values}
      words={(value) => (filter === "state" ? stateLook(value).words : value)}
      chosen={chosen}
      choose={(value) => router.go({ [filter]: value })}
    />
  );
}

function countText(shown: number, all: number): string {
  return shown === all ? counted(all, "model") : `${number(shown)} of ${counted(all, "model")}`;
}

function modelColumns(project: ProjectDocument): readonly Column<ModelRow>[] {
  const state: Column<ModelRow> = {
    id: "state",
    title: "State",
    width: 12,
    cell: (model) => (
      <span title={statesText(project, model)}>
        <State name={modelState(project, model)} />
      </span>
    ),
  };
  return [...NAMES, state, ...NUMBERS];
}

const NAMES: readonly Column<ModelRow>[] = [
  { id: "name", title: "Name", width: 22, cell: nameCell },
  { id: "kind", title: "Kind", width: 7, cell: ({ kind }) => kind },
  { id: "schema", title: "Schema", width: 8, cell: ({ schema }) => schema },
];

const NUMBERS: readonly Column<ModelRow>[] = [
  {
    id: "current",
    title: "Current",
    width: 9,
    isNumber: true,
    cell: ({ current, partitions }) => `${number(current)} of ${number(partitions)}`,
  },
  { id: "rows", title: "Rows", width: 7, isNumber: true, cell: ({ rows }) => number(rows) },
  {
    id: "bytes",
    title: "Size",
    width: 7,
    isNumber: true,
    cell: (model) => bytes(model.bytes),
  },
  {
    id: "built_at",
    title: "Last built",
    width: 9,
    cell: (model) => <Time at={model.built_at} isRelative />,
  },
  {
    id: "seconds",
    title: "Took",
    width: 6,
    isNumber: true,
    cell: (model) => seconds(model.seconds),
  },
  { id: "tags", title: "Tags", width: 7, cell: ({ tags }) => tags.join(", ") },
  { id: "owner", title: "Owner", width: 6, cell: ({ owner }) => owner },
];

function nameCell({ name }: ModelRow) {
  return (
    <a href={address("model", name)} title={name}>
      {name}
    </a>
  );
}
